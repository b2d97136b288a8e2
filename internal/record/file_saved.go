package record

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// MaxSaved is the maximum size of a stored file content, in bytes, both before compression and in
// the record.
const MaxSaved = 10 << 20

// FileAbsent is the digest of a file that does not exist.
const FileAbsent = "absent"

// The values of [FileSaved].Omitted, which are the reasons why the content is missing.
const (
	omittedLarge  = "too large"
	OmittedMasked = "it has a secret"
	OmittedErased = "erased"
)

// FileSaved is the payload of a [KindFileSaved] record: the state of a file immediately before a
// change. It is durable before the change. The content is in Data or in the record SameAs. If it is
// in neither, Omitted contains the reason. None of the three is set for a file that did not exist.
type FileSaved struct {
	Use     string `json:"use_id,omitempty"` // the id of the tool use that changes the file, or "" for a rewind
	Path    string `json:"path"`             // absolute, without links
	Existed bool   `json:"existed,omitempty"`
	Mode    string `json:"mode,omitempty"` // permission bits, octal
	Size    int64  `json:"size,omitempty"`
	Digest  string `json:"digest"`            // SHA-256 of the content in hexadecimal, or [FileAbsent]
	After   string `json:"after,omitempty"`   // digest of the content after the change
	Folders int    `json:"folders,omitempty"` // number of parent folders to create
	// ParentHeads are the log heads of the parent sessions when the file was saved, nearest first.
	ParentHeads []LogHead `json:"above,omitempty"`
	Rewind      *Rewind   `json:"rewind,omitempty"` // set if a rewind changes the file
	SameAs      int64     `json:"same_as,omitempty"`
	Omitted     string    `json:"omitted,omitempty"`
	Data        SavedData `json:"data,omitempty"` // the last field, so that the other fields can be read without it
}

// LogHead is the last record of a log.
type LogHead struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
}

// Rewind has the target record of a rewind, and who did it.
type Rewind struct {
	Seq int64  `json:"to"`
	By  string `json:"by,omitempty"`
}

// SavedData is the content of a file, compressed with gzip and encoded as base64.
type SavedData string

// PackContent compresses a file's content. ok is false if the content is larger than [MaxSaved] before
// or after compression.
func PackContent(content []byte) (_ SavedData, ok bool) {
	if len(content) > MaxSaved {
		return "", false
	}
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	z, err := gzip.NewWriterLevel(text, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(content)
	}
	if err = errors.Join(err, z.Close(), text.Close()); err != nil || out.Len() > MaxSaved {
		return "", false
	}
	return SavedData(out.String()), true
}

// Content returns the stored content. It returns an error if the digest of the content is not want.
func (d SavedData) Content(want string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(string(d))
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(z, MaxSaved+1))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
		return nil, errors.New("the content does not match its digest")
	}
	return content, nil
}

// Describe sets the mode, size and digest of an existing file.
func (f *FileSaved) Describe(mode fs.FileMode, size int64, digest string) {
	f.Existed, f.Mode, f.Size, f.Digest = true, strconv.FormatUint(uint64(mode.Perm()), 8), size, digest
}

// SetContent sets the content of the file, or SameAs if a record already contains it. The keys of
// at are the digests of stored contents, and the values are the seqs of their records. A nil
// content means that the file is too large.
func (f *FileSaved) SetContent(content []byte, at map[string]int64) {
	if seq, ok := at[f.Digest]; ok {
		f.SameAs = seq
		return
	}
	if content != nil {
		if data, ok := PackContent(content); ok {
			f.Data = data
			return
		}
	}
	f.Omitted = omittedLarge
}

// Permissions returns the permission bits of Mode, or an error if Mode is invalid.
func (f *FileSaved) Permissions() (fs.FileMode, error) {
	bits, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil || bits > 0o777 {
		return 0, fmt.Errorf("mode %.20q", f.Mode)
	}
	return fs.FileMode(bits), nil
}

// Payload returns the JSON of f on one line.
func (f *FileSaved) Payload() (json.RawMessage, error) {
	head := *f
	head.Data = ""
	p, err := jsonscan.Marshal(head)
	if err != nil || f.Data == "" {
		return p, err
	}
	const key = `,"data":"`
	p = append(p[:len(p)-1], key...)
	p = append(p, f.Data...) // base64 needs no escapes
	return append(p, '"', '}'), nil
}
