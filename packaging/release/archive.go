package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"slices"
	"strings"
	"time"
)

// entry is a file or folder of an archive.
type entry struct {
	Name string // a folder's ends with a slash
	Mode int64
	ID   int // owner and group
	Data []byte
}

// tarball writes an archive whose bytes depend only on its arguments.
func tarball(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name, Mode: e.Mode, Uid: e.ID, Gid: e.ID, Size: int64(len(e.Data)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped compresses without a file name and a time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// archiveEntries returns the files of a build in one folder.
func (r *release) archiveEntries(b *build, texts map[string][]byte) []entry {
	top := r.name(b.target, "/")
	files := maps.Clone(texts)
	files["THIRD_PARTY_NOTICES.txt"] = b.notices
	entries := []entry{{Name: top, Mode: 0o755}, {Name: top + "holdfast", Mode: 0o755, Data: b.program}}
	last := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir, _, ok := strings.Cut(name, "/")
		if dir == "systemd" && b.OS != "linux" {
			continue
		}
		if ok && dir != last {
			entries = append(entries, entry{Name: top + dir + "/", Mode: 0o755})
			last = dir
		}
		entries = append(entries, entry{Name: top + name, Mode: 0o644, Data: files[name]})
	}
	return entries
}

// writeArchive writes the .tar.gz of a build.
func (r *release) writeArchive(b *build, texts map[string][]byte) error {
	data, err := tarball(r.archiveEntries(b, texts), r.Time)
	if err != nil {
		return err
	}
	if data, err = gzipped(data); err != nil {
		return err
	}
	return r.write(r.name(b.target, ".tar.gz"), data, 0o644)
}
