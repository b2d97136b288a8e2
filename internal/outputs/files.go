package outputs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
)

// sealedMark is the first line of an encrypted file; the session's id and a line end follow.
const sealedMark = "holdfast sealed output 1\n"

// Files encodes and decodes the output files of one store's sessions. It is safe for concurrent use.
type Files struct {
	Store  string         // the store's name in its audit trail
	Sealed bool           // the store is encrypted: without a Sealer, Write fails
	Sealer Sealer         // nil if the store is not encrypted
	Mask   *secret.Masker // nil masks nothing
}

// Stored is an output file to write.
type Stored struct {
	Name string // file name
	Text []byte // masked text
	File []byte // content of the file: Text, or Text encrypted
}

// Write returns the file for the output of a tool use. The caller writes it.
func (k *Files) Write(ctx context.Context, id, use string, text []byte) (*Stored, error) {
	if k.Mask != nil {
		if masked, found := k.Mask.Text(string(text)); len(found) > 0 {
			text = []byte(masked)
		}
	}
	kept := &Stored{Name: prefix(k.Store, id) + usePart(use) + rand.Text()[:16] + ".txt", Text: text, File: text}
	if !k.Sealed {
		return kept, nil
	}
	if k.Sealer == nil {
		return nil, errors.New("the store is encrypted, but it has no key to encrypt the output file")
	}
	sealed, err := k.Sealer.Seal(ctx, id, kept.Name, text)
	if err != nil {
		return nil, err
	}
	kept.File = append([]byte(sealedMark+id+"\n"), sealed...)
	return kept, nil
}

// Open returns the text of a file from its content.
func (k *Files) Open(ctx context.Context, path string, content []byte) ([]byte, error) {
	return open(ctx, k.Sealer, path, content)
}

func open(ctx context.Context, s Sealer, path string, content []byte) ([]byte, error) {
	rest, sealed := bytes.CutPrefix(content, []byte(sealedMark))
	if !sealed {
		return content, nil
	}
	id, box, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, errors.New("the sealed output is damaged")
	}
	if s == nil {
		return nil, errors.New("the output is encrypted, but the store with its key is not open")
	}
	return s.Unseal(ctx, string(id), filepath.Base(path), box)
}

// prefix returns the beginning of the names of a session's files.
func prefix(store, id string) string { return short(store+"\x00"+id, 12) + "-" }

// usePart returns the part of the names that identifies the tool use.
func usePart(use string) string { return short(use, 6) + "-" }

func short(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:n])
}

// isOld reports whether a file is from an older version, whose names do not identify the session.
func isOld(name string) bool { return strings.HasPrefix(name, "output-") }
