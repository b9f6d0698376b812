"""Defines the exception that the agent and its verbs raise."""


class AgentError(Exception):
    """Raised if a step failed. The text names the step and the reason.

    :ivar answer: further values to return, which a playbook can register
    """

    def __init__(self, text, answer=None):
        super().__init__(text)
        self.answer = answer or {}
