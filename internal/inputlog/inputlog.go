// Package inputlog is the file with what the user sent in conversations: JSON lines with mode 0600,
// and a lock next to it, because several programs use it at once.
//
//	Change(ctx, path, func(old []byte) error { … }) // under the lock
//	Remove(ctx, path, func(e *Entry) bool { return e.Session == id })
//
// Package internal/term/edit writes the lines. Erasing a session removes its lines.
package inputlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// Name is the name of the file in the home folder. Its lock has the suffix ".lock".
const Name = "history.jsonl"

// Entry is the part of a line that says what must be erased.
type Entry struct {
	Text    string `json:"text"`
	Session string `json:"session"` // the session that the text was sent to, or ""
}

// Change calls do with the content of the file, under the lock. It waits for the lock until ctx ends.
func Change(ctx context.Context, path string, do func(old []byte) error) error {
	unlock, err := diskfile.WaitLock(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("lock the input history: %w", err)
	}
	defer unlock()
	old, err := os.ReadFile(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = do(old)
	}
	if err != nil {
		return fmt.Errorf("write the input history: %w", err)
	}
	return nil
}

// Remove removes the matching entries. Without a file it does nothing.
func Remove(ctx context.Context, path string, matches func(e *Entry) bool) error {
	if n, err := Count(path, matches); n == 0 {
		return err
	}
	return Change(ctx, path, func(old []byte) error {
		var kept []byte
		for line := range bytes.Lines(old) {
			if e := read(line); e == nil || !matches(e) {
				kept = append(kept, line...)
			}
		}
		return diskfile.Write(path, kept)
	})
}

// Count returns how many entries match.
func Count(path string, matches func(e *Entry) bool) (n int, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for line := range bytes.Lines(b) {
		if e := read(line); e != nil && matches(e) {
			n++
		}
	}
	return n, err
}

// read decodes a line; nil if it is no entry.
func read(line []byte) *Entry {
	var e Entry
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	return &e
}
