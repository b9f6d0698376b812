"""Defines the error of the agent."""


class AgentError(Exception):
    """Raised for a failed step; the text has the step and the reason.

    :ivar answer: further facts for the task of a playbook
    """

    def __init__(self, text, answer=None):
        super().__init__(text)
        self.answer = answer or {}
