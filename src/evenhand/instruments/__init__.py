"""What we measure pictures with, as opposed to the models under test.

| module | knows |
|---|---|
| `pictures` | how files become eight-bit RGB pixels, as each publication loads them |
| `pixels` | SSIM, MS-SSIM and PSNR in their published settings |
| `faces`, `people` | five-point alignment, face crops, person boxes and patches |
| `networks` | the networks themselves, with the published names of their weights (torch) |
| `architectures`, `checkpoints` | networks by name, given checked weights |
| `published`, `weights`, `carriers`, `arrays` | which weights exist, whether they are here, and how they are read |
| `comparers`, `readers`, `embedders`, `detectors`, `bodies` | ready instruments over files and pixels |
| `onnx`, `features` | the same without torch: any ONNX file, or vectors computed elsewhere |
| `readings`, `cache` | streaming, named problems, readings kept by content and fingerprint |

Nothing is imported before it is used; torch only by what runs a network.
"""
