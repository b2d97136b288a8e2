package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	png = append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 20)...)
	wav = append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), make([]byte, 20)...)
	pdf = []byte("%PDF-1.7\n")
)

func TestResults(t *testing.T) {
	for name, tt := range map[string]struct {
		result *sdk.CallToolResult
		want   string
	}{
		"text":       {textResult("a\xffb"), "a\uFFFDb"},
		"nothing":    {&sdk.CallToolResult{}, "[the tool returned nothing]"},
		"image":      {resultWith(&sdk.ImageContent{MIMEType: "image/jpeg", Data: png}), "media image/png 28"},
		"no image":   {resultWith(&sdk.ImageContent{MIMEType: "image/png", Data: []byte("<svg>")}), "[image, image/png, 5 bytes: cannot be shown]"},
		"large":      {resultWith(&sdk.ImageContent{MIMEType: "image/png", Data: append(png, make([]byte, maxMedia)...)}), "[image, image/png, 5242908 bytes: too large to show]"},
		"sound":      {resultWith(&sdk.AudioContent{MIMEType: "audio/x-wav", Data: wav}), "media audio/wav 36"},
		"link":       {resultWith(&sdk.ResourceLink{URI: "file:///a\nb", Name: "n", MIMEType: "text/plain"}), "[resource file:///a b, text/plain, n]"},
		"resource":   {resultWith(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "db://t", Text: "rows"}}), "[resource db://t]\nrows"},
		"document":   {resultWith(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x.pdf", Blob: pdf}}), "file application/pdf 9"},
		"binary":     {resultWith(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x", Blob: []byte{0, 1}}}), "[resource, no type, 2 bytes, x: cannot be shown]"},
		"structured": {&sdk.CallToolResult{StructuredContent: map[string]any{"a": "<"}}, `structured {"a":"<"}`},
		"both": {
			&sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}, Content: []sdk.Content{&sdk.TextContent{Text: "so:"}, &sdk.TextContent{Text: "{ \"a\": 1 }"}}},
			"so:\nstructured {\"a\":1}",
		},
		"another": {
			&sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}, Content: []sdk.Content{&sdk.TextContent{Text: `{"a":2}`}}},
			"{\"a\":2}\nstructured {\"a\":1}",
		},
	} {
		if got := text(resultOf(tt.result)); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	if r := resultOf(&sdk.CallToolResult{IsError: true, Content: textResult("bad").Content}); !r.IsError || text(r) != "bad" {
		t.Errorf("an error: %+v", r)
	}
	if r := resultOf(nil); !r.IsError {
		t.Error("no result is fine")
	}
}

func resultWith(list ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: list} }

func TestResultsAreBounded(t *testing.T) {
	got := text(resultOf(resultWith(&sdk.TextContent{Text: strings.Repeat("é", maxText)}, &sdk.TextContent{Text: "more"})))
	if len(got) > maxText+200 || !strings.HasSuffix(got, "[the result is too long: 100004 bytes of the text are omitted]") {
		t.Errorf("%d bytes, at the end %q", len(got), got[len(got)-100:])
	}
	var many []sdk.Content
	for range 200 {
		many = append(many, &sdk.ImageContent{MIMEType: "image/png", Data: png})
	}
	if r := resultOf(resultWith(many...)); len(r.Content) != maxParts+1 || !strings.HasSuffix(text(r), "136 parts are omitted]") {
		t.Errorf("%d parts", len(r.Content))
	}
}

// Whatever a server answers, a model can read it, and it is bounded.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":[1]},"isError":true}`,
		`{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"//8=","mimeType":"audio/mpeg"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AAEC"}},{"type":"resource_link","uri":"u","name":"n"}]}`,
		`{"content":[{"type":"resource"},{"type":"new"},null]}`, `{"structuredContent":"x"}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r sdk.CallToolResult
		if json.Unmarshal(raw, &r) != nil {
			return
		}
		got := resultOf(&r)
		if len(got.Content) == 0 || len(got.Content) > maxParts+1 || len(text(got)) > 2*maxText {
			t.Fatalf("%d parts", len(got.Content))
		}
	})
}

// Lines that are no messages never reach the library, and none that is one is lost.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\"}\nnoise\n[{\"jsonrpc\":1}]\r\n{\"a\":"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := newLines(bytes.NewReader(raw), &stderrTail{}, func() {})
		var got bytes.Buffer
		_, _ = got.ReadFrom(l)
		for line := range bytes.Lines(got.Bytes()) {
			if !isMessage(line) {
				t.Fatalf("passed on: %q", line)
			}
		}
		n := 0
		for line := range bytes.Lines(raw) {
			if isMessage(line) {
				n++
			}
		}
		if have := bytes.Count(got.Bytes(), []byte("\n")); have != n {
			t.Fatalf("%d messages of %d", have, n)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, ``, `{"a":1,"a":2}`, `{"a":{"b":[{"c":1,"c":2}]}}`, `[]`, `{} {}`, `{"a":`, `{"a":1e999}`, strings.Repeat(`{"a":`, 100)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := arguments(raw)
		if err != nil {
			return
		}
		var object map[string]any
		if dec := json.NewDecoder(bytes.NewReader(got)); !json.Valid(got) {
			t.Fatalf("taken: %q", got)
		} else if dec.UseNumber(); dec.Decode(&object) != nil {
			t.Fatalf("taken: %q", got)
		}
	})
}

func TestArguments(t *testing.T) {
	for raw, want := range map[string]string{
		``: "", `{}`: "", `{"a":[{"b":1},{"b":1}]}`: "", `{"a":1,"a":2}`: "duplicate field", `{"x":[{"a":1,"\u0061":2}]}`: "duplicate field",
		`[]`: "want a JSON object", `null`: "want a JSON object", `{} {}`: "more than one", `{"a":`: "unexpected EOF", strings.Repeat(`{"a":`, 100): "nested deeper",
		`{"a":` + strings.Repeat(`[`, 100): "nested deeper",
	} {
		_, err := arguments(json.RawMessage(raw))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", raw, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	env := variable([]string{"A=1", "B=", "A=2", "C=${A}"})
	for in, want := range map[string]string{
		"${A}": "2", "x${A}y${A}": "x2y2", "$A": "$A", "${B:-d}": "d", "${N:-d}": "d", "${N:-}": "", "${C}": "${A}", "${": "${", "${A": "${A",
		"${1}": "${1}", "${A-x}": "${A-x}", "$${A}": "$2", "${N:-a:-b}": "a:-b", "${ A}": "${ A}", "${B}": "",
	} {
		if got, missing := expand(in, env); got != want || missing != "" {
			t.Errorf("%s: got %q, missing %q, want %q", in, got, missing, want)
		}
	}
	if _, missing := expand("${A} ${N} ${M}", env); missing != "N" {
		t.Errorf("missing %q", missing)
	}
	s := Server{Name: "s", URL: "${U:-https://x.example}/mcp", Headers: map[string]string{"X": "${A}"}}
	got, err := s.Expand(env)
	if err != nil || got.URL != "https://x.example/mcp" || got.Headers["X"] != "2" || s.Headers["X"] != "${A}" {
		t.Errorf("%+v, %v", got, err)
	}
	s.Headers["X"] = "${EVIL}"
	if _, err := s.Expand(variable([]string{"EVIL=a\r\nHost: b"})); err == nil {
		t.Error("a header with a line break was taken")
	}
	s = Server{Name: "s", URL: "${U}", Headers: map[string]string{"X": "k"}}
	if _, err := s.Expand(variable([]string{"U=http://x.example/"})); err == nil || !strings.Contains(err.Error(), "unencrypted") {
		t.Errorf("a header in the clear: %v", err)
	}
}

func TestDigest(t *testing.T) {
	base := Server{Name: "a", Command: "x", Args: []string{"1", "2"}, Env: map[string]string{"K": "v"}}
	same := base
	same.Name, same.Transport, same.CallTimeout, same.Tools = "b", Stdio, 5, []string{"t"}
	if base.Digest() != same.Digest() {
		t.Error("what is not run changes the digest")
	}
	seen := map[string]bool{base.Digest(): true}
	for _, s := range []Server{
		{Command: "x", Args: []string{"1 2"}, Env: base.Env},
		{Command: "x", Args: []string{"1", "2"}, Env: map[string]string{"K": "w"}},
		{Command: "x", Args: []string{"1", "2"}},
		{Command: "x", Args: []string{"1", "2"}, Env: base.Env, Dir: "/"},
		{URL: "https://x"},
		{URL: "https://x", Transport: SSE},
		{URL: "https://x", Headers: map[string]string{"A": "b"}},
	} {
		if seen[s.Digest()] {
			t.Errorf("%+v has the digest of another", s)
		}
		seen[s.Digest()] = true
	}
}

func TestDefinitionsAreRefused(t *testing.T) {
	for want, s := range map[string]Server{
		"the command and the URL are missing": {},
		"a command cannot be combined":        {Command: "x", URL: "https://x"},
		"a URL cannot be combined":            {URL: "https://x", Args: []string{"a"}},
		"start with http":                     {URL: "ftp://x"},
		"a user name or password":             {URL: "https://u:p@x"},
		"invalid header":                      {URL: "https://x", Headers: map[string]string{"Host": "y"}},
		"unencrypted":                         {URL: "http://x.example", Headers: map[string]string{"A": "b"}},
		"invalid variable name":               {Command: "x", Env: map[string]string{"A=B": ""}},
		"unknown transport":                   {Transport: "ws", URL: "wss://x"},
		"a NUL":                               {Command: "x", Args: []string{"\x00"}},
		"is negative":                         {Command: "x", CallTimeout: -1},
		"at most 65536":                       {Command: "x", Args: []string{strings.Repeat("x", maxDefinition)}},
		"needs a Connect function":            {Transport: InProcess},
	} {
		s.Name = "s"
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	s := Server{Name: "s", Command: "npx", Args: []string{"-y", "a b", "$x"}, Env: map[string]string{"KEY": "secret"}}
	if got := s.Summary(); got != `npx -y "a b" "$x"` {
		t.Errorf("summary %s", got)
	}
	s = Server{Name: "s", URL: "https://x/mcp?key=secret", Headers: map[string]string{"A": "secret"}}
	if got := s.Summary(); got != "https://x/mcp?…" {
		t.Errorf("summary %s", got)
	}
}
