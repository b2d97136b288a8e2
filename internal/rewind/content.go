package rewind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// digestOf returns the digest of a file's content. If the file does not exist, it returns
// [record.FileAbsent] and a nil info.
func digestOf(p workdir.Path) (string, fs.FileInfo, error) {
	file, info, err := p.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return record.FileAbsent, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", nil, err
	}
	return hex.EncodeToString(h.Sum(nil)), info, nil
}

// protectedReason returns why writing a file needs approval, or "".
func protectedReason(path string) string {
	if !(policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: path}).WritesProtected() {
		return ""
	}
	return path + " controls other programs, so editing it always needs approval"
}

// find finds the record that contains the content to restore. It reads each content once to check
// it, and stores the result in checked. why is the reason why the file is blocked, or "".
func (f *File) find(ctx context.Context, s *session.Sessions, checked map[string]error) (why string, err error) {
	at := f.save
	switch {
	case at.Omitted != "":
		return "the content is not in the log: " + at.Omitted, nil
	case at.SameAs != 0:
		at.seq = at.SameAs
	case !at.hasData:
		return "the content is not in the log", nil
	}
	if _, err := at.Permissions(); err != nil {
		return "the stored content is damaged: " + damaged(err).Error(), nil //nolint:nilerr // it is why the file is blocked
	}
	f.content = &at
	wrong, ok := checked[at.Digest]
	if !ok {
		_, wrong = at.content(ctx, s)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		checked[at.Digest] = wrong
	}
	if wrong != nil {
		return wrong.Error(), nil //nolint:nilerr // it is why the file is blocked
	}
	return "", nil
}

// content reads the content of a file from its record.
func (f *savedFile) content(ctx context.Context, s *session.Sessions) ([]byte, error) {
	for r, err := range s.Effective(ctx, f.session, session.Range{After: f.seq - 1, Until: f.seq}) {
		if err != nil {
			return nil, err
		}
		var stored record.FileSaved
		if r.Kind != record.KindFileSaved || r.Payload == nil || json.Unmarshal(r.Payload, &stored) != nil || stored.Data == "" {
			why := "the content is no longer in the log"
			if stored.Omitted != "" {
				why += ": " + stored.Omitted
			}
			return nil, errors.New(why)
		}
		content, err := stored.Data.Content(f.Digest)
		if err != nil {
			return nil, damaged(err)
		}
		return content, nil
	}
	return nil, fmt.Errorf("record %d with the content is missing", f.seq)
}

func damaged(err error) error {
	return &session.Error{Op: "read saved file", Err: session.ErrCorrupt, Detail: err.Error()}
}
