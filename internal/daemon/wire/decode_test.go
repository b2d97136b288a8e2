package wire

import (
	"bufio"
	"bytes"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// hostile is a line of testdata/hostile.txt.
type hostile struct {
	line  int
	code  string
	frame []byte
}

func readHostile(t testing.TB) []hostile {
	t.Helper()
	b, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []hostile
	s := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; s.Scan(); n++ {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		code, rest, _ := strings.Cut(s.Text(), " ")
		h := hostile{line: n, code: code}
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("hostile.txt:%d: %v in %s", n, err, rest)
			}
			text, _ := strconv.Unquote(quoted)
			times, after, _ := strings.Cut(rest[len(quoted):], " ")
			count := 1
			if times != "" {
				if count, err = strconv.Atoi(strings.TrimPrefix(times, "*")); err != nil {
					t.Fatalf("hostile.txt:%d: %v", n, err)
				}
			}
			h.frame = append(h.frame, strings.Repeat(text, count)...)
			rest = after
		}
		list = append(list, h)
	}
	return list
}

func TestHostileFrames(t *testing.T) {
	list := readHostile(t)
	if len(list) < 300 {
		t.Errorf("%d frames, want at least 300", len(list))
	}
	for _, h := range list {
		r, e := Decode(h.frame)
		switch {
		case (r == nil) == (e == nil):
			t.Errorf("line %d: %v and %v", h.line, r, e)
		case e == nil && h.code != "OK":
			t.Errorf("line %d: %.80q is accepted", h.line, h.frame)
		case e != nil && h.code == "ANY":
			if !slices.Contains([]Code{CodeParse, CodeValidation, CodeTooLarge}, e.Code) {
				t.Errorf("line %d: %s", h.line, e.Code)
			}
		case e != nil && string(e.Code) != h.code:
			t.Errorf("line %d: %.80q gives %s: %s", h.line, h.frame, e.Code, e.Message)
		}
		if e != nil && len(Encode(e)) > 4096 {
			t.Errorf("line %d: the answer to %.80q has %d bytes", h.line, h.frame, len(Encode(e)))
		}
	}
}

// frames contains one message of each type with all of its fields.
var frames = []string{
	`{"type":"hello","requestId":"r","token":"hf_1","client":"wscat 6","protocol":1}`,
	`{"type":"ping","requestId":"r"}`,
	`{"type":"prepare_run","requestId":"r","runId":"run-1","strategyPath":"s.yaml","modelOverride":"a/b","cwd":"/w","manifestPath":"m.json","mode":"plan","maxBudgetUsd":0.5,"spec":{"tools":[]}}`,
	`{"type":"prepare_run","strategy":{"name":"x","agents":{}},"workspace":"blog"}`,
	`{"type":"start_run","requestId":"r","runId":"run-1","input":"go","images":[{"name":"a.png","mime":"image/png","data":"AAEC"}]}`,
	`{"type":"continue_run","requestId":"r","runId":"run-1","input":"more","images":[{"data":"AAEC"}]}`,
	`{"type":"stop_run","requestId":"r","runId":"run-1"}`,
	`{"type":"stop_run","requestId":"r","runId":"run-1","agentSession":"s2"}`,
	`{"type":"user_input","requestId":"r","runId":"run-1","agentName":"person","text":"yes","inputRequestId":"in-1"}`,
	`{"type":"steer_run","requestId":"r","runId":"run-1","text":"shorter","images":[{"data":"AAEC"}]}`,
	`{"type":"steer_run","requestId":"r","runId":"run-1","text":"shorter","agentSession":"s2"}`,
	`{"type":"permission_decision","requestId":"r","runId":"run-1","permissionRequestId":"p","decision":"allow-session","scope":"Bash(ls)","always":"local","message":"ok","digest":"00"}`,
	`{"type":"permission_decision","runId":"run-1","permissionRequestId":"p","decision":"deny","stop":true}`,
	`{"type":"permission_decision","runId":"run-1","permissionRequestId":"p","decision":"allow","input":{"command":"ls"}}`,
	`{"type":"update_policy","requestId":"r","runId":"run-1","tool":"Read","mode":"read","allow":["a"],"deny":["b"],"default":"ask","ifVersion":3}`,
	`{"type":"set_mode","requestId":"r","runId":"run-1","mode":"acceptEdits"}`,
	`{"type":"subscribe","requestId":"r","runId":"run-1","afterSeq":17}`,
	`{"type":"unsubscribe","requestId":"r","runId":"run-1"}`,
	`{"type":"list_runs","requestId":"r","cwd":"/w","status":"running","limit":10,"cursor":"c"}`,
	`{"type":"list_strategies","requestId":"r"}`,
}

// A decoded message has the same fields when it is encoded again.
func TestDecode(t *testing.T) {
	seen := map[string]map[string]bool{}
	for _, frame := range frames {
		r, e := Decode([]byte(frame))
		if e != nil {
			t.Errorf("%s: %v", frame, e)
			continue
		}
		back, err := jsonscan.Marshal(r)
		if err != nil || !sameJSON(t, back, []byte(frame)) {
			t.Errorf("%s\nis read as %s, %v", frame, back, err)
		}
		if seen[r.Type()] == nil {
			seen[r.Type()] = map[string]bool{}
		}
		for key := range object(t, back) {
			seen[r.Type()][key] = true
		}
	}
	for name, f := range forms() {
		for _, field := range f.names() {
			if !seen[name][field] {
				t.Errorf("no frame of the tests has %s.%s", name, field)
			}
		}
	}
}

// A field that is missing, null or of another type is rejected by name, unless it is optional.
func TestDecodeFieldErrors(t *testing.T) {
	for _, frame := range frames {
		full := object(t, []byte(frame))
		kind := strings.Trim(string(full["type"]), `"`)
		for i := range forms()[kind].fields {
			d := &forms()[kind].fields[i]
			if d.name == "type" {
				continue
			}
			for _, wrong := range []string{`null`, `true`, `7.5`, `"\u0001"`, `[1]`, `{}`} {
				_, e := Decode(with(t, full, d.name, wrong))
				if e == nil && string(d.kind) != kindOfJSON(wrong) {
					t.Errorf("%s.%s accepts %s", kind, d.name, wrong)
				}
				if e != nil && e.Code != CodeValidation {
					t.Errorf("%s.%s of %s gives %s", kind, d.name, wrong, e.Code)
				}
				if e != nil && string(d.kind) != kindOfJSON(wrong) && !strings.Contains(e.Message, d.name+": must be "+string(d.kind)) {
					t.Errorf("%s.%s of %s gives %q", kind, d.name, wrong, e.Message)
				}
			}
			_, e := Decode(with(t, full, d.name, ""))
			if d.required && (e == nil || !strings.Contains(e.Message, d.name+": is missing")) {
				t.Errorf("%s without %s: %v", kind, d.name, e)
			}
		}
	}
}

func kindOfJSON(s string) string {
	switch s[0] {
	case '"':
		return "a text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		frame, id string
		code      Code
		message   string
		hint      string
	}{
		{`{"type":"pnig","requestId":"r1"}`, "r1", CodeInvalidMessage, `Unknown message type "pnig"`, `did you mean "ping"?`},
		{`{"type":"PING","requestId":"r1"}`, "r1", CodeInvalidMessage, `Unknown message type "PING"`, `did you mean "ping"?`},
		{
			`{"type":"hub_install"}`, "", CodeInvalidMessage, `Unknown message type "hub_install"`,
			"clients may send hello, ping, prepare_run, start_run, continue_run, stop_run, user_input, steer_run, " +
				"permission_decision, update_policy, set_mode, subscribe, unsubscribe, list_runs, list_strategies",
		},
		{`{"requestId":"r1"}`, "r1", CodeValidation, "Invalid message: type: is missing", `such as {"type":"ping"}`},
		{`{"type":7,"requestId":"r1"}`, "r1", CodeValidation, "Invalid message: type: must be a text, not 7", ""},
		{`{"type":"prepare_run","requestId":"r1"}`, "r1", CodeValidation, "Invalid message: one of runId, strategyPath and strategy is required", ""},
		{`{"type":"prepare_run","runId":"r","workspace":"blog","cwd":"/w"}`, "", CodeValidation, "Invalid message: workspace and cwd cannot be used together", ""},
		{
			`{"type":"permission_decision","runId":"r","permissionRequestId":"p","decision":"alow","requestId":"q7"}`, "q7", CodeValidation,
			`Invalid message: decision: must be one of allow, deny, allow-session, deny-session, not "alow", did you mean "allow"?`, "",
		},
		{
			`{"type":"update_policy","runId":"r","mode":"exec","alow":[]}`, "", CodeValidation,
			`Invalid message: mode: must be one of read, write, not "exec"; "alow": unknown field, did you mean "allow"?`, "",
		},
		{
			`{"type":"stop_run","bogus":1}`, "", CodeValidation,
			`Invalid message: "bogus": unknown field, the fields are type, requestId, runId, agentSession; runId: is missing`, "",
		},
		{
			`{"type":"stop_run","runId":"../x"}`, "", CodeValidation,
			`Invalid message: runId: is not a valid run id: Session ID contains invalid character: '/'`, "",
		},
		{`{"type":"ping","requestId":"a","requestId":"b"}`, "b", CodeParse, `Invalid JSON at byte 31: duplicate key "requestId"`, ""},
		{`{"type":"ping","requestId":"a","x":[{"y":1,"y":2}]}`, "a", CodeParse, `Invalid JSON at byte 43: duplicate key "y"`, ""},
		{`{"type":"ping","requestId":` + "\"" + strings.Repeat("a", 129) + `"}`, "", CodeValidation, "Invalid message: requestId: has 129 bytes, at most 128 are allowed", ""},
		{`{"type":"ping","requestId":5}`, "", CodeValidation, "Invalid message: requestId: must be a text, not 5", ""},
		{`{"type":"list_runs","limit":501}`, "", CodeValidation, "Invalid message: limit: must be at most 500, not 501", ""},
		{`{"type":"subscribe","runId":"r","afterSeq":1.5}`, "", CodeValidation, "Invalid message: afterSeq: must be a whole number, not 1.5", ""},
		{`ping`, "", CodeParse, "Invalid JSON at byte 0: invalid character 'p' looking for beginning of value", ""},
		{`["ping"]`, "", CodeParse, "Invalid JSON: a message must be one object, not a list", `such as {"type":"ping"}`},
		{
			`{"type":"update_policy","runId":"r","mode":"read","deny":["a",""]}`, "", CodeValidation,
			"Invalid message: deny: entry 2 must not be empty", "",
		},
	} {
		_, e := Decode([]byte(tt.frame))
		if e == nil || e.Code != tt.code || e.Message != tt.message || e.Hint != tt.hint || e.RequestID != tt.id {
			t.Errorf("%s\n got %+v\nwant %s %s (hint %q, id %q)", tt.frame, e, tt.code, tt.message, tt.hint, tt.id)
		}
	}
}

func TestDecodeNamesManyProblems(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"ping"`)
	for i := range 100 {
		b.WriteString(`,"field` + strconv.Itoa(i) + `":1`)
	}
	_, e := Decode([]byte(b.String() + "}"))
	if e == nil || strings.Count(e.Message, ";") != maxProblems || !strings.HasSuffix(e.Message, "; and more") {
		t.Errorf("got %v", e)
	}
}

// U+FFFD is accepted like any other character, because a user may have pasted it.
func TestDecodeReplacementCharacter(t *testing.T) {
	for _, frame := range []string{
		"{\"type\":\"steer_run\",\"runId\":\"r\ufffd\",\"text\":\"a\ufffdb\u2022\",\"requestId\":\"\ufffd\"}",
		`{"type":"steer_run","runId":"r\ufffd","text":"a\ufFfDb\u2022","requestId":"\uFFFD"}`,
	} {
		r, e := Decode([]byte(frame))
		want := &SteerRun{Head: Head{Kind: "steer_run", RequestID: "\ufffd"}, RunID: "r\ufffd", Text: "a\ufffdb\u2022"}
		if e != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v, %v", frame, r, e)
		}
	}
	_, e := Decode([]byte(`{"type":"steer_run","runId":"r\ufffd","text":"","requestId":"\ufffd"}`))
	if e == nil || e.RequestID != "\ufffd" || e.RunID != "r\ufffd" {
		t.Errorf("the error is of %+v", e)
	}
}
