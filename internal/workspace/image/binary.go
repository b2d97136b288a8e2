package image

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// binary is the program of an image.
type binary struct {
	path string
	size int64
	sum  string // sha256, hexadecimal
	arch string // in Go's notation
	made time.Time
}

// machines has the processors that are supported.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// openBinary opens a program and checks it: it must be holdfast, as a static ELF file for Linux. ""
// is the running program.
func openBinary(path, arch string) (*binary, error) {
	isSelf := path == ""
	if isSelf {
		if runtime.GOOS != "linux" {
			return nil, unusableProgram("this program", "it is for "+runtime.GOOS, arch)
		}
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, &Error{Op: "inspect the running program", Err: err}
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Op: "inspect the program", Err: err}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, &Error{Op: "inspect the program", Err: err}
	}
	if !st.Mode().IsRegular() {
		return nil, unusableProgram(path, "it is not a regular file", arch)
	}
	b := &binary{path: path, size: st.Size()}
	if why := b.inspect(f); why != "" {
		return nil, unusableProgram(path, why, arch)
	}
	if b.arch != arch {
		return nil, unusableProgram(path, fmt.Sprintf("it is for %s, the engine runs on %s", b.arch, arch), arch)
	}
	digest := sha256.New()
	if n, err := io.Copy(digest, io.NewSectionReader(f, 0, b.size)); err != nil || n != b.size {
		return nil, &Error{Op: "read", Name: path, Err: errors.Join(err, io.ErrUnexpectedEOF)}
	}
	b.sum = hex.EncodeToString(digest.Sum(nil))
	return b, nil
}

// inspect returns the reason why a program cannot be used, or "".
func (b *binary) inspect(f io.ReaderAt) string {
	e, err := elf.NewFile(f)
	if err != nil {
		return "it is not an ELF program"
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return "it is not an ELF program"
	}
	if b.arch = machines[e.Machine]; b.arch == "" || e.ByteOrder.String() != "LittleEndian" {
		return "it is for the processor " + e.Machine.String()
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			return "it is not statically linked"
		}
	}
	if libs, err := e.ImportedLibraries(); err != nil || len(libs) > 0 {
		return "it is not statically linked"
	}
	info, err := buildinfo.Read(f)
	if err != nil {
		return "it has no build information"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if !strings.HasSuffix(info.Path, "/cmd/holdfast") {
		return "it is " + info.Path
	}
	if goos := settings["GOOS"]; goos != "linux" {
		return "it is for " + goos
	}
	b.made, err = time.Parse(time.RFC3339, settings["vcs.time"])
	if err != nil {
		b.made = time.Unix(0, 0).UTC() // unknown
	}
	return ""
}

func unusableProgram(path, why, arch string) error {
	return &Error{
		Op: "put into the image", Name: path, Err: ErrBinary, Detail: why,
		Advice: fmt.Sprintf("set --binary to a release for linux/%[1]s, or to one you build: CGO_ENABLED=0 GOOS=linux GOARCH=%[1]s go build -o holdfast-linux ./cmd/holdfast", arch),
	}
}
