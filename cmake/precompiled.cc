// SPDX-License-Identifier: Apache-2.0
// Empty: CMake wants a source beside the headers that it precompiles.
