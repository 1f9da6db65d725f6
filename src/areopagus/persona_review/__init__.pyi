from .config import ReviewConfig as ReviewConfig
from .review import review_persona as review_persona
from .run import ReviewRun as ReviewRun
