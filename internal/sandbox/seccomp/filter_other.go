//go:build !linux || !(amd64 || arm64)

package seccomp

// Filter returns [ErrArch]: there are tables only for Linux on amd64 and arm64.
func Filter(*Options) ([]Instruction, error) { return nil, ErrArch }
