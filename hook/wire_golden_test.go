package hook

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWireGolden compares the JSON of every event with testdata/wire.golden, which was made
// when Input was one flat list of fields: programs that read it need not change.
func TestWireGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/wire.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := wireLines(t)
	for i, line := range strings.Split(strings.TrimSuffix(string(want), "\n"), "\n") {
		if i >= len(lines) || lines[i] != line {
			t.Errorf("line %d\ngot  %s\nwant %s", i+1, append(slices.Clone(lines), "nothing")[min(i, len(lines))], line)
		}
	}
}

// wireLines is the JSON of every event in both dialects: with something in every field, and with nothing.
func wireLines(t *testing.T) (lines []string) {
	for _, info := range events {
		for _, d := range []string{dialectClaude, dialectSeed} {
			if d == dialectSeed && info.Seed == "" {
				continue
			}
			for _, in := range []Input{{Event: info.Event}, fullInput(info.Event)} {
				b, err := in.wire(d)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s %s", d, b))
			}
		}
	}
	return lines
}

// fullInput has in every field its name, or a value that is made of it.
func fullInput(e Event) Input {
	in := Input{Event: e}
	for i, f := range wireFields {
		name := f.claude + f.seed
		switch at := f.at(&in).(type) {
		case *string:
			if *at == "" { // one field may have two names
				*at = name
			}
		case **string:
			*at = &name
		case *int64:
			*at = int64(1000 + i)
		case *float64:
			*at = 0.5
		case *bool:
			*at = true
		case *time.Duration:
			*at = 1234 * time.Millisecond
		case *json.RawMessage:
			*at = json.RawMessage(fmt.Sprintf(`{"of": %q, "file_path": "a/b"}`, name))
		case *[]string:
			*at = []string{name, "b"}
		case *[]ToolCall:
			for _, use := range []string{"one", "two"} {
				*at = append(*at, ToolCall{Name: "Edit", Input: json.RawMessage(`{"file_path":"x"}`), UseID: use, Response: json.RawMessage(`{"of":1}`)})
			}
		default:
			panic(fmt.Sprintf("%s is a %T", name, at))
		}
	}
	return in
}
