# Sourced on the GPU machine, in the repository's root: unpacks what carry.sh gathered.
for package in .gl/*.deb; do dpkg -x "$package" /; done
ldconfig
mkdir -p /etc/OpenCL/vendors
find / -name 'libnvidia-opencl.so.1' -not -path '/proc/*' 2>/dev/null | head -1 >/etc/OpenCL/vendors/nvidia.icd
if [ -d .whl ]; then
  python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site .whl/*.whl
fi
export PYTHONPATH="$PWD/src:/tmp/site" PYTHONUNBUFFERED=1
export VK_DRIVER_FILES=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
date -u
