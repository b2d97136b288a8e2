package importsettings_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
)

// A file that may forbid something and cannot be read whole is an error with a place:
// what it forbids is not silently left out.
func TestReadRefusesWhatMayForbid(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind importsettings.Kind
		text string
		at   string
	}{
		{"permissions is no table", importsettings.Settings, "default_permissions = \"x\"\npermissions = \"open\"\n", "2:"},
		{"the filesystem of a profile is no table", importsettings.Settings, "default_permissions = \"x\"\n[permissions.x]\nfilesystem = true\n", "3:"},
		{"a special folder is denied", importsettings.Settings, "default_permissions = \"x\"\n[permissions.x.filesystem]\n\":root\" = \"none\"\n", "3:"},
		{"a table is defined twice", importsettings.Settings, "[a]\nx = 1\n[a]\ny = 2\n", "3:"},
		{"a text has no end", importsettings.Settings, "x = 1\ny = \"a\n", "2:"},
		{"a list has no end", importsettings.Settings, "writable_roots = [\"/a\",\n", ""},
		{"a key has no value", importsettings.Settings, "approval_policy =\n", "1:"},
		{"a rule without a decision", importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [{token = \"rm\"}]}]\n", "2:"},
		{"a pattern of numbers", importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [1], decision = \"forbidden\"}]\n", "2:"},
		{"a pattern without a token", importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [{word = \"rm\"}], decision = \"forbidden\"}]\n", "2:"},
		{"a pattern that is empty", importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [], decision = \"forbidden\"}]\n", "2:"},
		{"a line break in a text", importsettings.Rules, "prefix_rule(pattern = [\"a\nb\"], decision = \"forbidden\")", "1:"},
		{"a call has no end", importsettings.Rules, "prefix_rule(pattern = [\"rm\"], decision = \"forbidden\"", ""},
		{"a variable", importsettings.Rules, "danger = [\"rm\"]\nprefix_rule(pattern = danger, decision = \"forbidden\")", "1:"},
		{"a loop", importsettings.Rules, "for x in [\"rm\"]:\n  prefix_rule(pattern = [x], decision = \"forbidden\")", "1:"},
		{"a condition", importsettings.Rules, "if True:\n  prefix_rule(pattern = [\"rm\"], decision = \"forbidden\")", "1:"},
		{"a pattern in a pattern in a pattern", importsettings.Rules, "prefix_rule(pattern = [\"a\", [\"b\", [\"c\"]]], decision = \"forbidden\")", "1:"},
		{"a number as a pattern", importsettings.Rules, "prefix_rule(pattern = 1, decision = \"forbidden\")", "1:"},
		{"a decision that is a list", importsettings.Rules, "prefix_rule(pattern = [\"a\"], decision = [\"forbidden\"])", "1:"},
		{"a decision that is empty", importsettings.Rules, "network_rule(host = \"x.example\", decision = \"\")", "1:"},
		{"an escape that is not known", importsettings.Rules, `prefix_rule(pattern = ["a\q"], decision = "forbidden")`, "1:"},
		{"a raw text", importsettings.Rules, `prefix_rule(pattern = [r"a"], decision = "forbidden")`, "1:"},
		{"no comma", importsettings.Rules, `prefix_rule(pattern = ["a" "b"], decision = "forbidden")`, "1:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := importsettings.Read(importsettings.Codex, tt.kind, []byte(tt.text))
			if err == nil {
				t.Fatalf("it is read as %s, without %+v", f.JSON, f.Unsupported)
			}
			e, ok := errors.AsType[*importsettings.Error](err)
			if !ok {
				t.Fatalf("%v has no place", err)
			}
			if got := fmt.Sprintf("%d:%d %s", e.Line, e.Col, e.Detail); !strings.HasPrefix(got, tt.at) || e.Line < 1 || e.Col < 1 || e.Detail == "" {
				t.Errorf("the error is %q, want it at %s", got, tt.at)
			}
		})
	}
}

// Comments and trailing commas, which the other programs accept, do not move a value to
// another place: an error names the line of the file.
func TestReadPlacesAfterComments(t *testing.T) {
	for comment, line := range map[string]int{
		"":                          2,
		"// one\n":                  3,
		"/* one\n two */\n":         4,
		"// \"permissions\": {\n":   3,
		"/* // */ // \\\n":          3,
		"\"a\": \"// no comment\",": 2,
		"\"a\": \"\\\"/*\",\n":      3,
		"\"a\": [1, 2,],\n":         3,
	} {
		text := "{\n" + comment + `"permissions": "x"}`
		_, err := importsettings.Read(importsettings.Claude, importsettings.Settings, []byte(text))
		e, ok := errors.AsType[*importsettings.Error](err)
		if !ok || e.Line != line {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
	}
}
