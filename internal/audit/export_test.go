package audit_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/policy"
)

// sample returns the entries of a session with everything that exports must handle carefully.
func sample(t *testing.T) iter.Seq2[audit.Entry, error] {
	t.Helper()
	s, store := newSessions(t)
	one := 1
	log(t, s, "s",
		decide("a", "Bash", "rules", policy.Allow, func(d *policy.Decision) {
			d.Rule = &policy.Origin{Rule: "Bash(=cmd|' /C calc'!A0)", Layer: "project", File: "/w/.holdfast/settings.json", Line: 4}
			d.Touches = []policy.Target{{Operation: policy.OpCommand, Resource: "=cmd|' /C calc'!A0"}, {Operation: policy.OpRead, Resource: "/w/a,\"b\"\nc"}}
			d.Reason, d.Sandbox, d.Profile = `<script>alert("1")</script> & 'x'`, "the kernel", "p1"
		}),
		start("a", "Bash"),
		draft{record.KindToolFinished, record.ToolFinished{Use: "a", Tool: "Bash", IsError: true, ExitCode: &one, Millis: 12}},
		ask("q", "b", "Write", policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/\u202etxt.exe"}),
		reply("q", approval.Allow, "@bob", "cli"),
		decide("b", "Write", "@bob", policy.Allow, func(d *policy.Decision) { d.PersonAsked = true }),
		start("b", "Write"),
		draft{record.KindToolFinished, record.ToolFinished{Use: "b", Tool: "Write", Changes: []record.FileChange{{Path: "/w/n", Before: "absent", After: "ab"}}}},
		draft{record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan, By: "bob", Version: 3}},
		draft{record.KindPolicyChanged, policy.Change{Grant: &policy.Grant{ID: "g", Effect: policy.Deny, Tool: "Bash", Scope: "Bash(rm:*)"}, By: "bob", Version: 4}},
		draft{record.KindHookRan, record.HookRan{Event: "Stop", Hooks: []record.HookRun{{Name: "-2+3 go.sh", Type: "command", Millis: 5, Effect: "block", Reason: "tests fail", Source: "/w/s.json:3"}}}},
		decide("c", "Bash", "nobody", policy.Deny, nil),
		draft{record.KindRedacted, record.Redacted{Seqs: []int64{13}, By: "bob"}},
		decide("d", "Bash", "mode auto", policy.Allow, func(d *policy.Decision) {
			d.Touches = []policy.Target{{Operation: policy.OpCommand, Resource: "sleep 9"}}
		}),
		start("d", "Bash"),
	)
	store.erased[13] = true
	return audit.Read(t.Context(), s, "s", nil)
}

func export(t *testing.T, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := audit.Export(&b, format, sample(t)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportGolden(t *testing.T) {
	for _, f := range audit.Formats() {
		got := strings.ReplaceAll(export(t, f), `"version":"`+version.Current().Version+`"`, `"version":"RELEASE"`)
		name := filepath.Join("testdata", "export", "sample."+f)
		docgen.Golden(t, name, got)
	}
}

func objects(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		again, err := audit.Canonical(json.RawMessage(line))
		if err != nil || string(again)+"\n" != line {
			t.Errorf("not canonical: %s", line)
		}
		list = append(list, o)
	}
	return list
}

// An export can be verified on its own.
func TestJSONLChecksItself(t *testing.T) {
	prev := ""
	for line := range strings.Lines(export(t, "jsonl")) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if err := e.CheckAfter(prev); err != nil {
			t.Error(err)
		}
		prev = e.Digest
		changed := e
		changed.Actor.Name += "x"
		if changed.CheckAfter(e.Prev) == nil || e.CheckAfter("x") == nil {
			t.Errorf("entry %d: a change is not noticed", e.Seq)
		}
	}
}

func TestCSVIsInert(t *testing.T) {
	out := export(t, audit.FormatCSV)
	if strings.Count(out, "\r\n") == 0 || strings.HasPrefix(out, "\ufeff") {
		t.Error("RFC 4180 wants CRLF")
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := rows[0]
	if len(rows) != 15 || head[0] != "session" || head[len(head)-1] != "digest" {
		t.Errorf("%d rows, head %v", len(rows), head)
	}
	for _, row := range rows[1:] {
		for i, c := range row {
			if c != "" && strings.ContainsAny(c[:1], "=+-@\t\r\n|%") {
				t.Errorf("%s would be computed: %q", head[i], c)
			}
		}
	}
	if !strings.Contains(out, `'@bob`) || !strings.Contains(out, `'-2+3 go.sh`) || !strings.Contains(out, `"fs.write /w/`) && !strings.Contains(out, `fs.write /w/`) {
		t.Errorf("%s", out)
	}
}

// Each event has what its class requires (schema.ocsf.io, 1.3.0).
func TestOCSF(t *testing.T) {
	list := objects(t, export(t, "ocsf"))
	types := map[string]int{}
	for _, ev := range list {
		required := []string{"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid", "actor"}
		class := int(ev["class_uid"].(float64))
		switch class {
		case 6003:
			required = append(required, "api", "src_endpoint")
		case 3004:
			required = append(required, "entity")
		default:
			t.Errorf("class %d", class)
		}
		for _, name := range required {
			if _, ok := ev[name]; !ok {
				t.Errorf("class %d has no %s: %v", class, name, ev)
			}
		}
		activity := int(ev["activity_id"].(float64))
		if int(ev["category_uid"].(float64)) != class/1000 || int(ev["type_uid"].(float64)) != class*100+activity {
			t.Errorf("category, class and type do not fit: %v", ev)
		}
		types[fmt.Sprint(class, " ", activity)]++
		meta := ev["metadata"].(map[string]any)
		product := meta["product"].(map[string]any)
		if meta["version"] != "1.3.0" || product["name"] == "" || product["vendor_name"] == "" || meta["uid"] == "" {
			t.Errorf("metadata %v", meta)
		}
		if at := time.UnixMilli(int64(ev["time"].(float64))); at.Year() != 2026 {
			t.Errorf("time %v", at)
		}
		if api, ok := ev["api"].(map[string]any); ok && api["operation"] == "" {
			t.Errorf("api %v", api)
		}
		var e audit.Entry
		if err := json.Unmarshal([]byte(ev["raw_data"].(string)), &e); err != nil || e.CheckAfter(e.Prev) != nil {
			t.Errorf("raw_data is not the entry: %v", err)
		}
		denied := e.Action == "deny"
		if got := ev["action_id"]; e.Kind == audit.KindDecision && !e.Erased && (got == 2.0) != denied {
			t.Errorf("decision %s has the action %v", e.Action, got)
		}
	}
	want := map[string]int{"6003 1": 2, "6003 3": 3, "6003 4": 1, "6003 99": 5, "6003 0": 1, "3004 1": 1, "3004 3": 1}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
}

func TestCloudEvents(t *testing.T) {
	seen := map[string]bool{}
	for _, ev := range objects(t, export(t, "cloudevents")) {
		for _, name := range []string{"id", "source", "type", "time"} {
			if s, _ := ev[name].(string); s == "" {
				t.Errorf("no %s: %v", name, ev)
			}
		}
		if ev["specversion"] != "1.0" || ev["datacontenttype"] != "application/json" {
			t.Errorf("%v", ev)
		}
		for name := range ev {
			if !regexp.MustCompile(`^[a-z0-9]{1,20}$`).MatchString(name) {
				t.Errorf("attribute %q", name)
			}
		}
		key := fmt.Sprint(ev["source"], ev["id"])
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if _, err := time.Parse(time.RFC3339, ev["time"].(string)); err != nil {
			t.Error(err)
		}
		data, err := json.Marshal(ev["data"])
		var e audit.Entry
		if err != nil || json.Unmarshal(data, &e) != nil || e.CheckAfter(e.Prev) != nil {
			t.Errorf("data is not the entry: %s", data)
		}
	}
}

func TestHTMLIsInert(t *testing.T) {
	out := export(t, audit.FormatHTML)
	if n := strings.Count(out, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"\u202e", `alert("1")`, "http://", "https://", "src=\"", "href="} {
		if strings.Contains(out, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(&#34;1&#34;)", "U+202E", "default-src 'none'", "color-scheme: light dark", "the content was erased"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

type limitedWriter struct{ limit int }

func (f *limitedWriter) Write(p []byte) (int, error) {
	if f.limit -= len(p); f.limit < 0 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

func TestExportFails(t *testing.T) {
	if err := audit.Export(&bytes.Buffer{}, "xml", sample(t)); err == nil || !strings.Contains(err.Error(), "use one of jsonl, csv, ocsf, cloudevents, html") {
		t.Errorf("an unknown format: %v", err)
	}
	broken := errors.New("broken")
	for _, f := range audit.Formats() {
		var b bytes.Buffer
		err := audit.Export(&b, f, func(yield func(audit.Entry, error) bool) {
			for e, err := range sample(t) {
				if !yield(e, err) {
					return
				}
				if yield(audit.Entry{}, broken) {
					t.Errorf("%s goes on behind an error", f)
				}
				return
			}
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", f, err)
		}
		if err := audit.Export(&limitedWriter{100}, f, sample(t)); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("%s to a full disk: %v", f, err)
		}
	}
}
