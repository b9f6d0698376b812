"""The one error of the agent."""


class AgentError(Exception):
    """Something could not be done; the text says what and why.

    :ivar answer: what is known besides, for the task of a playbook that looks at it
    """

    def __init__(self, text, answer=None):
        super().__init__(text)
        self.answer = answer or {}
