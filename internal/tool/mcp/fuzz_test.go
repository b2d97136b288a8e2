package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a server asks for, what people are shown of it is fit for a terminal.
func FuzzFields(f *testing.F) {
	f.Add([]byte(form))
	f.Add([]byte(`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X\u001b[0m"}]}},"b":{"enum":["1"],"enumNames":["eins","zwei"]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := fieldsOf(raw)
		if err != nil {
			return
		}
		for _, field := range list {
			if strings.ContainsRune(field.Title+field.Description, 0x1b) || !utf8.ValidString(field.Title) {
				t.Fatalf("%+v", field)
			}
		}
		e := Elicitation{Fields: list}
		content := map[string]string{}
		for _, field := range list {
			content[field.Name] = "the-answer"
		}
		told := e.masked(mustJSONOf(content))
		for _, field := range list {
			if field.Secret && len(list) == 1 && strings.Contains(string(told), "the-answer") {
				t.Fatalf("told %s", told)
			}
		}
	})
}

func mustJSONOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// A token that is kept is whole and of its server, or not used.
func FuzzTokenSet(f *testing.F) {
	f.Add([]byte(`{"version":1,"url":"https://x.example","access_token":"a","expiry":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := decodeTokenSet(raw, "https://x.example")
		if err == nil && (g.Access == "" || g.URL != "https://x.example" || strings.ContainsAny(g.Access, "\r\n")) {
			t.Fatalf("%+v", g)
		}
	})
}

// What is expanded holds no more than the text and the variables.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "${A:-b}", "${", "$${A}}", "${A:-${B}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, missing := expand(text, func(name string) (string, bool) { return "", name == "A" })
		if missing != "" && !isVariable(missing) {
			t.Fatalf("missing %q", missing)
		}
		if len(got) > len(text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
