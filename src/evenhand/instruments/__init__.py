"""What we measure pictures with, as opposed to the models under test.

| module | knows |
|---|---|
| `pictures`, `films` | how files become eight-bit RGB pixels, as each publication loads them |
| `pixels` | SSIM, MS-SSIM and PSNR in their published settings |
| `faces`, `people` | five-point alignment, face crops, person boxes and patches |
| `networks` | the networks themselves, with the published names of their weights (torch) |
| `architectures`, `checkpoints` | networks by name, given checked weights |
| `weight_files`, `weights`, `packages` | which weights exist, whether they are here, how they are got |
| `carriers`, `graphs` | how the weights that packages carry are read |
| `comparers`, `readers`, `onnx`, `embedders`, `detectors`, `bodies` | ready instruments over files and pixels |
| `readings` | streaming, named problems, readings kept by content and fingerprint |

Nothing is imported before it is used; torch only by what runs a network.
"""
