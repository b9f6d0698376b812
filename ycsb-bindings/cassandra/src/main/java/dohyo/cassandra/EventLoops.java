package dohyo.cassandra;

import com.datastax.driver.core.NettyOptions;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Driver options that set the number of event loops, and end them without the driver's pause of two seconds. */
public final class EventLoops extends NettyOptions {
  private static final int CLOSE_SECONDS = 15;

  private final int count;

  public EventLoops(int count) {
    this.count = count;
  }

  @Override
  public EventLoopGroup eventLoopGroup(ThreadFactory factory) {
    return Epoll.isAvailable() ? new EpollEventLoopGroup(count, factory) : new NioEventLoopGroup(count, factory);
  }

  @Override
  public Class<? extends SocketChannel> channelClass() {
    return Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class;
  }

  @Override
  public void onClusterClose(EventLoopGroup threads) {
    threads.shutdownGracefully(0, CLOSE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
  }
}
