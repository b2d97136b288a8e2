package convert

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Format is a file format of sessions.
type Format string

// The formats. The formats in importableFormats can be read; all formats except Auto can be
// written.
const (
	Auto         Format = "auto" // detect the format from the content
	OpenAgentSDK Format = "open-agent-sdk"
	Claude       Format = "claude"
	Codex        Format = "codex"
	JSONL        Format = "jsonl" // Holdfast's own records
	Text         Format = "text"
	Markdown     Format = "markdown"
	HTML         Format = "html"
)

// importableFormats lists the formats that [Import] reads.
func importableFormats() []Format { return []Format{OpenAgentSDK, Claude, Codex, JSONL} }

// exportableFormats lists the formats that [Export] writes.
func exportableFormats() []Format {
	return []Format{JSONL, Text, Markdown, HTML, Claude, Codex, OpenAgentSDK}
}

// vendor returns the name of the program that writes a format.
func (f Format) vendor() string {
	if f == Claude {
		return "claude-code"
	}
	return string(f)
}

// detectBytes is how much of a file is read to detect its format.
const detectBytes = 256 << 10

// detectFormat detects the format of a file from its beginning. If the format is unknown,
// the error describes the content.
func detectFormat(r io.ReaderAt) (Format, error) {
	head := make([]byte, detectBytes)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	head = bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")))
	switch {
	case len(head) == 0:
		return "", fmt.Errorf("the file is empty")
	case head[0] != '{':
		return "", fmt.Errorf("the file does not start with a JSON object")
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	if len(bytes.TrimSpace(line)) < 8 { // "{": a document of several lines
		line = head
	}
	keys := topKeys(line)
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(keys, n) })
	}
	switch {
	case has("seq", "kind", "digest") || has("seq", "id", "time", "kind"):
		return JSONL, nil
	case has("messages") || has("metadata") && !has("type"):
		return OpenAgentSDK, nil
	case has("type", "payload") || has("record_type") || has("id", "timestamp") && !has("type"):
		return Codex, nil
	case has("type"):
		return Claude, nil
	}
	return "", fmt.Errorf("no known format has the fields %s", strings.Join(keys, ", "))
}

// topKeys lists the keys of an object, including the key whose value is cut off.
func topKeys(b []byte) []string {
	var keys []string
	i := jsonscan.SkipSpace(b, 0)
	for i = jsonscan.SkipSpace(b, i+1); i < len(b) && b[i] == '"' && len(keys) < 64; {
		end := jsonscan.StringEnd(b, i)
		if end < 0 {
			break
		}
		keys = append(keys, string(keyOf(b[i:end])))
		if i = jsonscan.SkipSpace(b, end); i >= len(b) || b[i] != ':' {
			break
		}
		if i = jsonscan.ValueEnd(b, jsonscan.SkipSpace(b, i+1)); i < 0 {
			break
		}
		if i = jsonscan.SkipSpace(b, i); i < len(b) && b[i] == ',' {
			i = jsonscan.SkipSpace(b, i+1)
		}
	}
	return keys
}
