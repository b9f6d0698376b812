-- Workload for sysbench with the rows, keys and statements of Dohyo's MySQL binding; benchmarks/versus_native.py sets the options.

sysbench.cmdline.options = {
  records = {"Rows in the table", 100000},
  fields = {"Fields of a row", 10},
  batch = {"Rows of a statement", 1},
  reads = {"Statements of a hundred that read", 100}
}

local VALUE = string.rep("@", 100)

local function repeated(text, times)
  local all = {}
  for i = 1, times do
    all[i] = text
  end
  return table.concat(all, ", ")
end

local function prepared(sql, lengths)
  local statement, variables = connection:prepare(sql), {}
  for i, length in ipairs(lengths) do
    variables[i] = statement:bind_create(sysbench.sql.type.VARCHAR, length)
  end
  statement:bind_param(unpack(variables))
  return statement, variables
end

function thread_init()
  options = sysbench.opt
  connection = sysbench.sql.driver():connect()
  local names, updates, keys, row = {"YCSB_KEY"}, {}, {}, {}
  for field = 0, options.fields - 1 do
    names[field + 2] = "field" .. field
    updates[field + 1] = string.format("field%d = VALUES(field%d)", field, field)
  end
  for i = 1, options.batch do
    keys[i] = 24
    row[#row + 1] = 24
    for field = 1, options.fields do
      row[#row + 1] = 100
    end
  end
  reading, sought = prepared(options.batch == 1 and "SELECT * FROM usertable WHERE YCSB_KEY = ?"
    or "SELECT * FROM usertable WHERE YCSB_KEY IN (" .. repeated("?", options.batch) .. ")", keys)
  writing, written = prepared("INSERT INTO usertable (" .. table.concat(names, ", ") .. ") VALUES "
    .. repeated("(" .. repeated("?", options.fields + 1) .. ")", options.batch)
    .. " ON DUPLICATE KEY UPDATE " .. table.concat(updates, ", "), row)
end

-- Returns sorted keys, so that two writes cannot wait for each other's rows.
local function some_keys()
  local keys = {}
  for i = 1, options.batch do
    keys[i] = "user" .. sysbench.rand.uniform(0, options.records - 1)
  end
  table.sort(keys)
  return keys
end

function event()
  local keys, row = some_keys(), options.fields + 1
  if sysbench.rand.uniform(1, 100) <= options.reads then
    for i = 1, options.batch do
      sought[i]:set(keys[i])
    end
    reading:execute():free()
  else
    for i = 1, #written do
      written[i]:set(i % row == 1 and keys[(i - 1) / row + 1] or sysbench.rand.string(VALUE))
    end
    writing:execute()
  end
end

function sysbench.hooks.report_intermediate(interval)
  print(string.format("%d events, %d errors", interval.events, interval.errors))
  io.stdout:flush()
end
