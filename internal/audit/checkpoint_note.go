package audit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// checkpoint is the text of a signed note in the C2SP tlog-checkpoint format. It means that the
// first size leaves, which end at byte bytes, have this root.
type checkpoint struct {
	origin string
	size   int64
	root   tlog.Hash
	bytes  int64
	time   time.Time
}

func (c checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\nbytes %d\ntime %s\n",
		c.origin, c.size, base64.StdEncoding.EncodeToString(c.root[:]), c.bytes, c.time.UTC().Format(leafTime))
}

var errNoCheckpoint = errors.New("not a checkpoint of a trail")

// parseCheckpoint reads a note's text. Lines after the fifth belong to other programs.
func parseCheckpoint(text string) (checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 6 || lines[0] == "" {
		return checkpoint{}, errNoCheckpoint
	}
	c := checkpoint{origin: lines[0]}
	var err [4]error
	c.size, err[0] = strconv.ParseInt(lines[1], 10, 64)
	root, bad := base64.StdEncoding.DecodeString(lines[2])
	err[1] = bad
	size, isSize := strings.CutPrefix(lines[3], "bytes ")
	c.bytes, err[2] = strconv.ParseInt(size, 10, 64)
	at, isTime := strings.CutPrefix(lines[4], "time ")
	c.time, err[3] = time.Parse(leafTime, at)
	if errors.Join(err[:]...) != nil || len(root) != len(c.root) || !isSize || !isTime || c.size < 0 || c.bytes < c.size {
		return checkpoint{}, errNoCheckpoint
	}
	copy(c.root[:], root)
	return c, nil
}

// splitNote returns the text of a signed note without verifying it.
func splitNote(signed []byte) (string, bool) {
	text, _, ok := bytes.Cut(signed, []byte("\n\n— "))
	return string(text) + "\n", ok
}

// readCheckpoint reads the last checkpoint of a folder without verifying it. If there is none, it
// returns zero values.
func readCheckpoint(dir string) (checkpoint, []byte, error) {
	signed, err := os.ReadFile(filepath.Join(dir, checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return checkpoint{}, nil, nil
	}
	if err != nil {
		return checkpoint{}, nil, err
	}
	text, ok := splitNote(signed)
	if !ok {
		return checkpoint{}, nil, fmt.Errorf("the file %s is %w", checkpointName, errNoCheckpoint)
	}
	c, err := parseCheckpoint(text)
	if err != nil {
		return checkpoint{}, nil, fmt.Errorf("the file %s is %w", checkpointName, err)
	}
	return c, signed, nil
}

// splitNotes splits a list of notes. torn is the text after the last complete note.
func splitNotes(b []byte) (notes [][]byte, torn []byte) {
	for len(b) > 0 {
		i := bytes.Index(b, []byte("\n\n— "))
		if i < 0 {
			return notes, b
		}
		end := bytes.Index(b[i+2:], []byte("\n\n"))
		if end < 0 {
			return notes, b
		}
		end += i + 2
		notes = append(notes, b[:end+1])
		b = b[end+2:]
	}
	return notes, nil
}
