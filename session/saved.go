package session

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/holdfast-dev/holdfast/transcript"
)

// MaxSaved is the largest content of a file that a record keeps, in bytes, and the most
// bytes that it takes in the record.
const MaxSaved = 10 << 20

// FileAbsent is the digest of a file that is not there.
const FileAbsent = "absent"

// Why a [FileSaved] has no content.
const (
	omittedLarge  = "too large"
	OmittedMasked = "it has a secret"
	omittedErased = "erased"
)

// FileSaved is the payload of [KindFileSaved]: what a file was right before it was
// changed, durable before the change. Its content is in Data, or in the record that
// SameAs names, or, for the reason in Omitted, nowhere; a file that was not there has
// none of the three.
type FileSaved struct {
	Use     string `json:"use_id,omitempty"` // the tool use that changes it, or "" for a rewind
	Path    string `json:"path"`             // absolute, without links
	Existed bool   `json:"existed,omitempty"`
	Mode    string `json:"mode,omitempty"` // permission bits, octal
	Size    int64  `json:"size,omitempty"`
	Digest  string `json:"digest"`            // SHA-256 of the content in hexadecimal, or [FileAbsent]
	After   string `json:"after,omitempty"`   // of what it was to become
	Folders int    `json:"folders,omitempty"` // that were to be made above it
	// Above are the heads of the logs of the sessions that this one works for, nearest
	// first, when it was saved.
	Above   []Head    `json:"above,omitempty"`
	Rewind  *Rewound  `json:"rewind,omitempty"` // what changes it is a rewind
	SameAs  int64     `json:"same_as,omitempty"`
	Omitted string    `json:"omitted,omitempty"`
	Data    SavedData `json:"data,omitempty"` // last, so that the rest is read without it
}

// Head is where a log ended.
type Head struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
}

// Rewound says of a rewind to which record it went back, and who did it.
type Rewound struct {
	To int64  `json:"to"`
	By string `json:"by,omitempty"`
}

// SavedData is a file's content, compressed with gzip and written as base64.
type SavedData string

// PackContent compresses a content. ok is false when it is larger than [MaxSaved], or
// stays so.
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

// Content returns what was saved; want is its digest. ErrCorrupt when it is something else.
func (d SavedData) Content(want string) ([]byte, error) {
	bad := func(err error) ([]byte, error) {
		return nil, &Error{Op: "read saved file", Err: ErrCorrupt, Detail: err.Error()}
	}
	raw, err := base64.StdEncoding.DecodeString(string(d))
	if err != nil {
		return bad(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return bad(err)
	}
	content, err := io.ReadAll(io.LimitReader(z, MaxSaved+1))
	if err != nil {
		return bad(err)
	}
	if Sum(content).String() != want {
		return bad(errors.New("the content does not match its digest"))
	}
	return content, nil
}

// Describe says what the file is.
func (f *FileSaved) Describe(mode fs.FileMode, size int64, digest string) {
	f.Existed, f.Mode, f.Size, f.Digest = true, strconv.FormatUint(uint64(mode.Perm()), 8), size, digest
}

// Keep takes the content of the file, if none of the records at, by digest, has it; nil
// is one that is too large to be held.
func (f *FileSaved) Keep(content []byte, at map[string]int64) {
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

// Permissions are the bits of Mode. ErrCorrupt for a text that is none.
func (f *FileSaved) Permissions() (fs.FileMode, error) {
	bits, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil || bits > 0o777 {
		return 0, &Error{Op: "read saved file", Err: ErrCorrupt, Detail: fmt.Sprintf("mode %.20q", f.Mode)}
	}
	return fs.FileMode(bits), nil
}

// Draft is the record of f.
func (f *FileSaved) Draft() (Draft, error) {
	head := *f
	head.Data = ""
	d, err := NewDraft(KindFileSaved, head)
	if err != nil || f.Data == "" {
		return d, err
	}
	const key = `,"data":"`
	b := make([]byte, 0, len(d.Payload)+len(key)+len(f.Data)+1)
	b = append(b, d.Payload[:len(d.Payload)-1]...)
	b = append(b, key...)
	b = append(b, f.Data...) // base64 needs no escapes
	d.Payload = append(b, '"', '}')
	return d, nil
}

// saved notes where a content is kept.
func (f *folder) saved(r *Record) {
	if transcript.RawPart(r.Payload).Field("data") == nil {
		return
	}
	if f.s.Saved == nil {
		f.s.Saved = map[string]int64{}
	}
	f.s.Saved[payloadText(r.Payload, "digest")] = r.Seq
}

// shows reports whether mask finds something in a payload.
func (r *Record) shows(mask func(json.RawMessage) json.RawMessage) bool {
	if r.Kind == KindFileSaved {
		return !bytes.Equal(maskSaved(r.Payload, mask), r.Payload)
	}
	return !bytes.Equal(mask(r.Payload), r.Payload)
}

// withoutContent is a file.saved that has lost its content.
func withoutContent(payload json.RawMessage, why string) json.RawMessage {
	var f FileSaved
	if json.Unmarshal(payload, &f) != nil {
		return nil
	}
	if f.Data != "" {
		f.Data, f.Omitted = "", why
	}
	return f.payload()
}

func (f *FileSaved) payload() json.RawMessage {
	d, err := f.Draft()
	if err != nil {
		return nil
	}
	return d.Payload
}

// maskSaved masks a file.saved: the content as a whole when there is a secret in it, of
// which its compressed form says nothing.
func maskSaved(payload json.RawMessage, mask func(json.RawMessage) json.RawMessage) json.RawMessage {
	var f FileSaved
	if json.Unmarshal(payload, &f) != nil {
		return mask(payload)
	}
	changed := false
	if f.Data != "" {
		content, err := f.Data.Content(f.Digest)
		if err != nil || maskFinds(content, mask) {
			f.Data, f.Omitted, changed = "", OmittedMasked, true
		}
	}
	head := f
	head.Data = ""
	was := head.payload()
	if masked := mask(was); !bytes.Equal(masked, was) {
		// Whose content it is cannot be told any more.
		if f = (FileSaved{}); json.Unmarshal(masked, &f) != nil {
			return masked
		}
		f.Omitted, changed = OmittedMasked, true
	}
	if !changed {
		return payload
	}
	return f.payload()
}

// maskFinds reports whether mask, which takes payloads, finds something in the content
// of a file.
func maskFinds(content []byte, mask func(json.RawMessage) json.RawMessage) bool {
	raw, err := json.Marshal(map[string]string{"text": string(content)})
	return err != nil || !bytes.Equal(mask(raw), raw)
}
