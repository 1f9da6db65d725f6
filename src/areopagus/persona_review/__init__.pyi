from .config import ReviewConfig as ReviewConfig
from .job import ReviewJob as ReviewJob
from .job import areview_persona as areview_persona
from .job import review_persona as review_persona
from .run import ReviewRun as ReviewRun
