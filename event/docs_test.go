package event

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// docs/reference/events.md has each type in the right table with its fields, and a readable
// example.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/reference/events.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	recorded, provisional, ok := strings.Cut(doc[strings.Index(doc, "## Durable"):], "## Provisional")
	if !ok {
		t.Fatal("docs/reference/events.md has no chapter about provisional events")
	}
	for name, read := range decoders {
		e, err := read([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		chapter := recorded
		if Provisional(e) && name != "subagent" {
			chapter = provisional
		}
		row := regexp.MustCompile("(?m)^\\| (?:`\\w+`, )*`" + name + "`[,|` \\w]* \\|.*$").FindString(chapter)
		if row == "" {
			t.Errorf("docs/reference/events.md does not have %s where it belongs", name)
		}
		for i := range reflect.TypeOf(e).NumField() {
			field, _, _ := strings.Cut(reflect.TypeOf(e).Field(i).Tag.Get("json"), ",")
			if field != "-" && !strings.Contains(row, "`"+field+"`") {
				t.Errorf("docs/reference/events.md: %s lacks %s", name, field)
			}
		}
	}
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(doc)); s.Scan(); {
		if line := s.Text(); strings.HasPrefix(line, `{"type":`) {
			lines++
			e, err := Unmarshal([]byte(line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			again, err := Marshal(e)
			var got, want any
			if err != nil || json.Unmarshal(again, &got) != nil || json.Unmarshal([]byte(line), &want) != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nis written as\n%s", line, again)
			}
		}
	}
	if lines < 8 {
		t.Errorf("the example has %d lines", lines)
	}
}
