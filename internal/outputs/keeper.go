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

// sealedMark begins a file whose text is sealed; the session's id and a line end follow.
const sealedMark = "holdfast sealed output 1\n"

// Files makes and opens the files of one store's sessions. It is safe for concurrent use.
type Files struct {
	Store  string         // the store's name, as its audit trail has it
	Sealed bool           // the store is: without a Sealer nothing is kept
	Sealer Sealer         // nil when the store is not sealed
	Mask   *secret.Masker // nil: nothing is masked
}

// Stored is an output as it is to be kept.
type Stored struct {
	Name string // of the file
	Text []byte // masked
	File []byte // what the file holds: Text, or that sealed
}

// Write makes a file's content of the output of a tool use.
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
		return nil, errors.New("the store is encrypted, and nothing seals what lies beside it")
	}
	sealed, err := k.Sealer.Seal(ctx, id, kept.Name, text)
	if err != nil {
		return nil, err
	}
	kept.File = append([]byte(sealedMark+id+"\n"), sealed...)
	return kept, nil
}

// Open returns the text of a file by its content.
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
		return nil, errors.New("the output is encrypted, and the store that has its key is not open")
	}
	return s.Unseal(ctx, string(id), filepath.Base(path), box)
}

// prefix begins the names of a session's files.
func prefix(store, id string) string { return short(store+"\x00"+id, 12) + "-" }

// usePart is what follows in the names of a tool use's files.
func usePart(use string) string { return short(use, 6) + "-" }

func short(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:n])
}

// isOld reports whether a file is one of an older version, whose name says nothing.
func isOld(name string) bool { return strings.HasPrefix(name, "output-") }
