package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// file is a file of an image. The default owner is root.
type file struct {
	name     string // without a leading or trailing slash
	typ      byte   // tar.TypeReg, TypeDir, TypeSymlink or TypeLink
	mode     int64  // the permissions and the sticky bit
	uid, gid int
	link     string // target of a link; for TypeLink a name of the layer
	size     int64
	open     func() (io.ReadCloser, error) // of a regular file; nil: empty
}

func folder(name string, mode int64) file { return file{name: name, typ: tar.TypeDir, mode: mode} }

func text(name, content string) file {
	return file{
		name: name, typ: tar.TypeReg, mode: 0o644, size: int64(len(content)),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(content))), nil },
	}
}

// hostFile returns a file of the host. The file is read when the image is written. If the size of the
// file has changed by then, this is an error.
func hostFile(name, from string, mode, size int64) file {
	return file{
		name: name, typ: tar.TypeReg, mode: mode, size: size,
		open: func() (io.ReadCloser, error) { return os.Open(from) },
	}
}

// layer has the files of an image, sorted by name, and their parent folders.
type layer []file

// sorted sorts files and adds missing parent folders. Of two files with the same name the first is kept.
func sorted(files ...file) layer {
	seen := map[string]bool{}
	var out layer
	add := func(f file) {
		if !seen[f.name] {
			seen[f.name], out = true, append(out, f)
		}
	}
	for _, f := range files {
		add(f)
	}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			add(folder(dir, 0o755))
		}
	}
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return out
}

// write writes the files as a tar. If content is false, it writes zeros in place of the content of
// the files, to compute the size of the tar archive.
func (l layer) write(w io.Writer, content bool) error {
	t := tar.NewWriter(w)
	for i := range l {
		if err := l[i].write(t, "", content); err != nil {
			return err
		}
	}
	return t.Close()
}

// write writes one file below a folder.
func (f *file) write(t *tar.Writer, below string, content bool) error {
	h := &tar.Header{
		Name: path.Join(below, f.name), Typeflag: f.typ, Mode: f.mode & 0o1777, Uid: f.uid, Gid: f.gid,
		Linkname: f.link, Size: f.size, ModTime: time.Unix(0, 0),
	}
	switch f.typ {
	case tar.TypeDir:
		h.Name += "/"
	case tar.TypeLink:
		h.Linkname = path.Join(below, f.link)
	}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if f.size == 0 {
		return nil
	}
	body := io.NopCloser(io.LimitReader(zeroReader{}, f.size))
	if content {
		var err error
		if body, err = f.open(); err != nil {
			return err
		}
	}
	n, err := io.Copy(t, body)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != f.size {
		err = fmt.Errorf("%s: %w: its size has changed", f.name, fs.ErrInvalid)
	}
	return errors.Join(err, body.Close())
}

// length returns the size in bytes of the tar archive that write produces.
func (l layer) length() (int64, error) {
	var n counter
	err := l.write(&n, false)
	return int64(n), err
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// zeroReader is an endless reader of zeros.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
