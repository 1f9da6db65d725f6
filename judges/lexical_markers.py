"""The words that `offline/lexical` looks for: English, chosen by hand.

They are compared without inflection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_FUNCTION = (
    "a about above after again against all also am an and any are as at be because been "
    "before being below between both but by can cannot could did do does doing don't down "
    "during each either else even ever few for from further had has have having he her "
    "here hers him himself his how i if in into is it it's its itself just may me might "
    "mine more most much must my neither no nor not of off on once one only or other "
    "others our ours out over own per rather same shall she should since so some such than "
    "that that's the their theirs them themselves then there these they this those though "
    "through to too under until up upon us very was we were what when where whether which "
    "while who whom whose why will with within without would yet you your yours"
)
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())
"""Words without a subject of their own; about half of English prose."""

_QUESTION = (
    "answer anything argue ask become best better bring case come consider describe "
    "discuss essay ever everything explain far find follow get give go good happen know "
    "lead left let like long look made make many mean means need often part people put "
    "question reason response said say says see seem sense show take tell thing things "
    "think told use used usual view want way well work world write"
)
QUESTION_WORDS: Final = frozenset(_QUESTION.split())
"""Words of a question's wording and not of its subject; taking them up earns no coverage."""

MARKERS: Final[Mapping[str, str]] = {
    "definitions": (
        "means|mean by|defined|define|definition|refers to|understood as|sense of|in the sense|"
        "what counts as|the term|the word|the concept|the notion|in other words|that is to say|"
        "distinguish|distinction|separate|two claims|two things|two senses|two kinds|"
        "several things|different things|not the same|as opposed to|specifically|namely|"
        "consists of|amounts to|meaning|so understood|in the way that|what it asks"
    ),
    "evidence": (
        "study|survey|data|research|researcher|found|finds|finding|measured|experiment|census|"
        "reported|according to|historian|economist|sociologist|political scientist|for example|"
        "for instance|example|evidence|per cent|percent|sample|estimate|recorded|records|"
        "statistics|archive|trial|counted|documented|published|observed|analysis|interview|"
        "dataset|showed|in a case|such as|case of|law|court|comparing"
    ),
    "caution": (
        "may|might|suggests|correlation|observational|cannot show|does not show|does not prove|"
        "proves little|limited|unclear|uncertain|tends|partly|roughly|about half|contested|"
        "disputed|disagree|perhaps|probably|likely|appears|seems|in part|mostly|to some extent|"
        "not settle|settles|too quick|cannot be read|understate|overstate|generalise|"
        "generalize|i think|i suspect|often|so far as|depends"
    ),
    "contrasts": (
        "however|although|though|whereas|on the other hand|nevertheless|nonetheless|"
        "by contrast|in contrast|while|conversely|even so|instead|despite|at the same time|yet|"
        "but|still|on the contrary|rather than|not only|unlike|nor"
    ),
    "stakeholders": (
        "worker|employer|employee|student|pupil|parent|family|teacher|woman|women|men|resident|"
        "neighbour|neighbor|community|minority|majority|citizen|voter|taxpayer|migrant|"
        "immigrant|official|government|council|regulator|court|company|union|descendant|"
        "protester|police|child|children|elder|carer|patient|nurse|doctor|applicant|candidate|"
        "recruiter|customer|tenant|landlord|owner|commuter|driver|shopkeeper|bystander|"
        "historian|conservator|university|institution|generation|heirs|group|public|poor|rich|"
        "neighbourhood|neighborhood|opponent|lawmaker|journalist|victim|black|middle-class|"
        "working-class|elite|alumni"
    ),
    "viewpoints": (
        "critic|defender|supporter|opponent|proponent|advocate|sceptic|skeptic|some argue|"
        "some people say|some say|some people will say|others argue|others say|on one view|"
        "on another view|from the perspective|perspective|point of view|viewpoint|conservative|"
        "liberal|libertarian|progressive|feminist|egalitarian|utilitarian|communitarian|"
        "socialist|marxist|argued|argues|replied|replies|reply|will answer|will object|"
        "will say|will add|would say|would answer|would object|those who|may mean|"
        "may not agree|has a complaint|complaint|has a claim|claim because|disagree|side|both|"
        "take seriously|points out|insist|worry|fear"
    ),
    "objections": (
        "objection|admittedly|granted|to be fair|it is true|is right|are right|has weight|"
        "strongest|concede|counterargument|counterexample|does not follow|too quick|one might|"
        "does not mean|that does not|both are true|point seriously|serious|exception|at least|"
        "not always"
    ),
    "premises": (
        "because|given that|since|for this reason|assume|assumption|if|suppose|premise|"
        "depends on|provided that|unless|the reason|when|in order to|ground|owing to|"
        "as long as|requires|condition|principle"
    ),
    "conclusions": (
        "therefore|thus|hence|follows|consequently|conclude|implies|as a result|which means|"
        "this suggests|that is why|then|so|accordingly|in short|on balance|overall|"
        "what remains|if that is right|it follows|should therefore"
    ),
    "order": (
        "first|second|third|finally|next|lastly|to begin with|in addition|moreover|furthermore|"
        "one is|the other is|two|three|for one thing"
    ),
    "absolutes": (
        "always|never|everyone|everybody|nobody|no one|obviously|undeniably|totally|completely|"
        "absolutely|period|end of story|everything|nothing|forever|no excuses|that simple|"
        "all of them|anyone|any fool|simply|of course|without doubt|literally|nothing but|"
        "every single|anyway|no reason|can't be|honestly"
    ),
    "insults": (
        "idiot|stupid|snowflake|moron|lazy|ridiculous|whining|garbage|nonsense|loser|thug|"
        "pathetic|jealous|dumb|brat|vandal|clown|crazy|insane|shut up|get over it|deal with it|"
        "get a job|so what|hate|scum|parasite|fool|disgusting|so-called|spoiled"
    ),
    "vagueness": (
        "stuff|whatever|basically|somehow|kind of|sort of|you know|a lot|lots of|etc|just|"
        "things|really|very|everybody knows|everyone knows|people say|these days|and so on|"
        "something|somebody|someone|some problems|like with all"
    ),
}
"""Families of markers: phrases separated by `|`."""
