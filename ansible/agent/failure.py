"""Defines the exception that the agent and its verbs raise."""


class AgentError(Exception):
    """Raised for a failed step; the text names the step and the reason.

    :ivar answer: further return values, which a playbook can register
    """

    def __init__(self, text, answer=None):
        super().__init__(text)
        self.answer = answer or {}
