package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// WriteFile writes an export to a file with mode 0600. The file is created only when the export is
// complete. The path in output names a file or a folder. In a folder, the new file gets the name
// inFolder. An existing file is replaced only if output is the path of that file. The function
// write may return an error about damaged content although the rest of the export is complete.
// WriteFile then writes the file and returns that error. The function note is called with the path
// and the SHA-256 before the file is created.
func WriteFile(p *Program, output, inFolder string, write func(io.Writer) (damaged, err error), note func(path, sum string) error) (path string, err error) {
	if path, err = p.Path(output); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && inFolder != "" {
		path = filepath.Join(path, inFolder)
		if info, err = os.Lstat(path); err == nil {
			return "", outcome.Invalid(path+" already exists", "move it away, or name the file to replace: -o "+term.Quote(path))
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		return "", outcome.Invalid(path+" exists and is not a regular file", "omit -o and redirect standard output")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".holdfast-export-*") // mode 0600
	if err != nil {
		return "", outcome.Invalid(fmt.Sprintf("cannot write %s: %v", path, errors.Unwrap(err)), "")
	}
	defer os.Remove(tmp.Name())
	sum := sha256.New()
	damaged, err := write(io.MultiWriter(tmp, sum))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = note(path, hex.EncodeToString(sum.Sum(nil)))
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(damaged, err)
	}
	return path, damaged
}
