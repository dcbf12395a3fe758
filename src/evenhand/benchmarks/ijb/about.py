"""What `describe` prints about the tests, in the words of the user."""

from __future__ import annotations

from evenhand.core.task import About

LICENCE = (
    "IJB-B is made available under different Creative Commons licences, listed per file in "
    "ijbb_licenses_and_sources.xlsx. Who uses it must comply with the licence of each file "
    "(https://creativecommons.org/licenses/), follow the best practices for attribution "
    "(https://wiki.creativecommons.org/wiki/best_practices_for_attribution), and know that the database can change "
    "at any time, that the U.S. Government gives no warranty of non-infringement and relies on the diligence of the "
    "contractors who prepared it. Owners of samples under another licence should write to FaceChallenges@nist.gov. "
    "IJB-A and IJB-C have terms of their own. Names of subjects never enter a report."
)
CAUTIONS = (
    "The people are celebrities and internet personalities; results need not hold for others.",
    "Attributes were annotated by crowd workers in layman's terms; they are labels, not identities.",
    "Comparisons share subjects: intervals draw subjects again, never comparisons.",
)
FOLDER = (
    "The folder that holds `protocol/` (IJB-B) or `protocols/` (IJB-C), or `IJB-A_11_sets` and `IJB-A_1N_sets`. "
    "Prefixes and names of galleries are taken from what is there. "
)
EMBEDDINGS = (
    "A folder or a TOML file with `embeddings` (.npy, .npz, .parquet, .safetensors: one row per face), `faces` "
    "(FACE_INDEX, FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE) and, for flip=sum or concat, `embeddings_flip`. "
)
POOLING = (
    "Pooling by four switches in words: flip (none, sum, concat), norm (keep, unit), detector (on, off), media (mean, "
    "mean_unit, flat). Letters such as N1D1F1 mean opposite things in different scripts and are not used.",
    "A template fails to enrol when no face has an embedding or the pooled vector has no length. penalise: it is never "
    "accepted and stays in the denominators; exclude: it leaves them, and the rate of failures is reported.",
)
TAR = (
    "exact: the best TAR while FMR ≤ α (default). at_impostor: the threshold is an impostor's score (bob.measure). "
    "nearest: the point of scikit-learn's thinned ROC whose FPR is nearest to α (most published tables; its FPR can "
    "exceed α). nearest_full_curve: the same without thinning. linear: interpolated ROC.",
    "A rate based on fewer than 30 false accepts is erratic; the count stands beside every value.",
)
RATES = "`TAR@FAR=…` at a group's own threshold; `FMR@overall…`, `FNMR@overall…` at the threshold set on everyone."

VERIFICATION = About(
    data=FOLDER + "Or the community's list files (`*_face_tid_mid.txt`, `*_name_5pts_score.txt`, "
    "`*_template_pair_label.txt`), or a folder with scores.csv (LABEL, SCORE).",
    predictions=EMBEDDINGS + "An .npy with one row per line of the list files works alone. Without embeddings: "
    "scores.csv (TEMPLATE_ID_1, TEMPLATE_ID_2, SCORE; empty for a failure to enrol) or a .npy of scores.",
    rows="a comparison of two templates",
    unit="subject (both subjects of a comparison)",
    conventions=(*TAR, RATES, *POOLING),
    licence=LICENCE,
    cautions=CAUTIONS,
)
COVARIATES = About(
    data=FOLDER,
    predictions=EMBEDDINGS + "Or scores.csv in the order of the match list.",
    rows="a comparison of two faces",
    unit="subject (both subjects of a comparison)",
    conventions=(
        "Groups of comparisons: `gender` and the like (both = v, and v | w), `gender_match` (same, different), "
        "`yaw_difference` and `roll_difference` in bins. A comparison needs an annotation on both sides; age 0 "
        "('unknown') counts as missing.",
        RATES,
        *TAR,
        *POOLING,
    ),
    licence=LICENCE,
    cautions=CAUTIONS,
    rules="AGE 0 unknown, 1 0–19, 2 20–34, 3 35–49, 4 50–64, 5 65+; INDOOR_OUTDOOR 0 outdoor, 1 indoor; SKINTONE 1 "
    "light pink, 2 light yellow, 3 medium pink/brown, 4 medium yellow/brown, 5 medium-dark brown, 6 dark brown; "
    "FACIAL_HAIR 0 none, 1 moustache, 2 goatee, 3 beard; GENDER 0 female, 1 male; NaN: no annotation.",
)
SEARCH = About(
    data=FOLDER + "Or gallery_NAME.csv (COLUMN, SUBJECT_ID) and probes.csv (ROW, SUBJECT_ID) beside score matrices.",
    predictions=EMBEDDINGS + "For test 5 also `video_frames` (TEMPLATE_ID, FACE_INDEX). Without embeddings: "
    "scores_GALLERY.csv (a line per probe, a score per template) or candidates_GALLERY.csv (PROBE_ID, RANK, "
    "GALLERY_ID, SCORE).",
    rows="a probe searched in a gallery",
    unit="subject of the probe",
    conventions=(
        "Every gallery is searched with all probes; rates are averaged over galleries (combine=mean) or counts are "
        "pooled (combine=pooled). `--by gallery` shows each.",
        "A rank counts the templates of other people that score as high as the mate or higher (ties=pessimistic).",
        "TPIR at FPIR is exact: the best TPIR while FPIR ≤ α, with the mate at rank 1, within the list, at any rank.",
        "legacy=true adds two readings of public scripts under their own names.",
        *POOLING,
    ),
    licence=LICENCE,
    cautions=CAUTIONS,
)
DETECTION = About(
    data=FOLDER,
    predictions="A CSV with FILENAME, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT, CONFIDENCE, one line per detection.",
    rows="an image; a face found; a face missed; a false alarm",
    unit="image",
    conventions=(
        "ignore: an image with a flagged row drops out (media, default), a flagged box is 'don't care' (box), or flags "
        "are ignored (none).",
        "match: a detection takes the best face still free (available) or wants the best of all (argmax).",
        "TPR at FPPI is exact: the best TPR with at most so many false positives per image, 0 when there is none.",
    ),
    licence=LICENCE,
    cautions=CAUTIONS[:2],
)
_CLUSTERS = (
    "P = mean of n_tc/n_c, R = mean of n_tc/n_t over faces, F = 2PR/(P+R) of the two means. A failure to enrol has "
    "precision 0 and recall 0 and stays in its subject's n_t. 'without FTE' removes such faces first (-no_fte).",
    "Precision and recall are computed over the whole clustering; groups and draws select faces afterwards.",
)
CLUSTERING = About(
    data=FOLDER + "The sub-protocol is chosen by `subjects`; the largest by default.",
    predictions="A CSV with TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE; cluster −1 is a failure to enrol. In a "
    "folder: clusters_SUBJECTS.csv.",
    rows="a face to be clustered",
    unit="subject",
    conventions=_CLUSTERS,
    licence=LICENCE,
    cautions=CAUTIONS[:2],
)
DETECTION_CLUSTERING = About(
    data=FOLDER,
    predictions="A CSV with TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT.",
    rows="a face of a subject of interest",
    unit="subject",
    conventions=(
        "Detections are attached to faces of interest one to one, largest overlap first, from iou=0.5 on; everything "
        "else is background, which dilutes the precision of its cluster and is no event.",
        "A face without a detection counts as a failure to enrol; 'without assigned FTE' keeps it as a zero.",
        *_CLUSTERS,
    ),
    licence=LICENCE,
    cautions=CAUTIONS[:2],
)
FACES = About(
    data=FOLDER + "Media in `img/` and `frames/`.",
    predictions="The model yields (id, vector) or (id, (vector, detector score)) for every sample; `given` has the box "
    "(left, top, width, height), the landmarks and whether the picture is to be mirrored. "
    "`evenhand.instruments.faces.align` makes the usual five-point crop.",
    rows="a face",
    unit="subject",
    licence=LICENCE,
    cautions=CAUTIONS[:2],
)
VIDEOS = About(
    data=FOLDER + "Media in `video/`.",
    predictions="The model yields (id, vectors) with one vector per frame it used; `given` has the first frame and "
    "its box. `evenhand.instruments.films.open_film` decodes frames on request. Test 5 takes the answers beside those "
    "of `ijb/faces`: a TOML file names `embeddings` and `faces` of the one, `video_embeddings` and `video_frames` of "
    "the other.",
    rows="a video probe",
    unit="subject",
    licence=LICENCE,
    cautions=CAUTIONS[:2],
)
