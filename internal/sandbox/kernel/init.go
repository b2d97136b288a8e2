//go:build linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// initProgram returns the program that is process 1 of a command's pid namespace: a file in memory that all
// commands share.
var initProgram = sync.OnceValues(func() (*os.File, error) {
	fd, err := unix.MemfdCreate("holdfast-init", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate("holdfast-init", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING) // before Linux 6.3
	}
	if err != nil {
		return nil, fmt.Errorf("create a file in memory for init: %w", err)
	}
	f := os.NewFile(uintptr(fd), "holdfast-init")
	if _, err := f.Write(initImage()); err != nil {
		f.Close()
		return nil, fmt.Errorf("write init: %w", err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal init: %w", err)
	}
	return f, nil
})

// initImage builds an ELF program of one page from the code of supervise.
func initImage() []byte {
	const base = 0x400000
	code := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&superviseText[0]))), superviseText[1]-superviseText[0])
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: 2, Shentsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	start := uint64(header.Ehsize) + uint64(header.Phnum)*uint64(header.Phentsize)
	header.Entry = base + start
	size := start + uint64(len(code))
	var out bytes.Buffer
	for _, part := range []any{
		header,
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base,
			Filesz: size, Memsz: size, Align: 0x10000,
		},
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
		code,
	} {
		_ = binary.Write(&out, binary.LittleEndian, part) // a write to a buffer cannot fail
	}
	return out.Bytes()
}
