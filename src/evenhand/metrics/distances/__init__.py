"""How far a set of synthesised frames is from a set of real ones.

None of these is a mean of rows: a group, a subsample or a permutation is a new pair of sets. Rows are frames, with a
feature vector each and a column that says which side they stand on; the states keep what the distance needs.

| module | what |
|---|---|
| `frames` | the state that keeps feature vectors, and who reads them |
| `frechet` | the Fréchet distance, from rows (cross-Gram) or from moments |
| `kernel` | the kernel distances: KID, unbiased at every size, and the Gaussian one of CMMD |
| `inception` | the inception score, whole or by splits |
| `neighbours` | precision, recall, density and coverage of features |
"""

from evenhand.metrics.distances.frechet import Frechet, FrechetOfMoments, frechet_distance, frechet_of_moments
from evenhand.metrics.distances.inception import InceptionScore, inception_score
from evenhand.metrics.distances.kernel import GaussianDistance, KernelDistance, kernel_distance
from evenhand.metrics.distances.neighbours import Neighbours, neighbourhood

__all__ = [
    "Frechet",
    "FrechetOfMoments",
    "GaussianDistance",
    "InceptionScore",
    "KernelDistance",
    "Neighbours",
    "frechet_distance",
    "frechet_of_moments",
    "inception_score",
    "kernel_distance",
    "neighbourhood",
]
