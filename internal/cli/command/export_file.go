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
)

// WriteFile writes an export to a file that appears when it is whole, and that is the user's alone.
// output is a path, or a folder in which the file gets the name inFolder. write may return an
// error for what is damaged in an export that is whole all the same; export returns it. note
// gets the path and the SHA-256 before the file appears.
func WriteFile(p *Program, output, inFolder string, write func(io.Writer) (damaged, err error), note func(path, sum string) error) (path string, err error) {
	if path, err = p.Path(output); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && inFolder != "" {
		path = filepath.Join(path, inFolder)
		info, err = os.Stat(path)
	}
	if err == nil && !info.Mode().IsRegular() {
		return "", outcome.Invalid(path+" is there and is no regular file", "leave -o out and redirect standard output")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".holdfast-export-*") // mode 0600
	if err != nil {
		return "", outcome.Invalid(fmt.Sprintf("%s cannot be written: %v", path, errors.Unwrap(err)), "")
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
