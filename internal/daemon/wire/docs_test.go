package wire

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const document = "../../../docs/reference/websocket.md"

var update = flag.Bool("update", false, "write the tables of docs/reference/websocket.md anew")

// common are the fields that docs/reference/websocket.md explains once.
var common = []string{"runId", "seq", "more", "pending"}

// The tables of fields in the document are those of the schema.
func TestDocumentedFields(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)<!-- fields: (\S+) -->\n.*?<!-- end -->`)
	seen := map[string]bool{}
	text := block.ReplaceAllStringFunc(string(b), func(old string) string {
		name := block.FindStringSubmatch(old)[1]
		seen[name] = true
		return "<!-- fields: " + name + " -->\n" + tables(t, s, name) + "<!-- end -->"
	})
	for _, name := range []string{"client", "common", "daemon", "event", "objects"} {
		if !seen[name] {
			t.Errorf("the document has no tables of %s", name)
		}
	}
	if text == string(b) {
		return
	}
	if !*update {
		t.Fatal("the tables differ from the schema; hint: go test ./daemon/wire -run TestDocumentedFields -update")
	}
	if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tables(t *testing.T, s *jsonschema.Schema, name string) string {
	var out strings.Builder
	if name == "objects" {
		for i := range objects {
			o := &objects[i]
			nested := inside(t, s.Defs[o.in], o.path)
			fmt.Fprintf(&out, "\n**`%s`** %s\n\n", o.name, o.what)
			for field, p := range nested.Properties {
				p.Description = cmp.Or(p.Description, o.fields[field])
				if p.Description == "" {
					t.Errorf("%s.%s has no description", o.name, field)
				}
			}
			table(&out, nested, keys(nested))
		}
		return out.String() + "\n"
	}
	if name == "common" {
		started := s.Defs["daemon.strategy_started"]
		table(&out, started, common)
		return "\n" + out.String() + "\n"
	}
	for _, r := range s.Defs[name].OneOf {
		def := strings.TrimPrefix(r.Ref, "#/$defs/")
		message := s.Defs[def]
		_, kind, _ := strings.Cut(def, ".")
		fmt.Fprintf(&out, "\n**`%s`** %s\n", kind, about(t, name, kind))
		var own []string
		for field := range message.Properties {
			_, place := message.Properties["more"]
			if field == "type" || field == "ts" || place && slices.Contains(common, field) || field == "requestId" && kind != "request_permission" {
				continue
			}
			own = append(own, field)
		}
		if len(own) == 0 {
			continue
		}
		sortAs(t, own, def)
		out.WriteString("\n")
		table(&out, message, own)
	}
	return out.String() + "\n"
}

// sortAs puts fields in the order in which they are written.
func sortAs(t *testing.T, fields []string, def string) {
	t.Helper()
	order := map[string]int{}
	raw := object(t, object(t, object(t, object(t, Schema())["$defs"])[def])["properties"])
	text := string(object(t, object(t, Schema())["$defs"])[def])
	for field := range raw {
		order[field] = strings.Index(text, `"`+field+`":{`)
	}
	slices.SortFunc(fields, func(a, b string) int { return order[a] - order[b] })
}

func table(out *strings.Builder, message *jsonschema.Schema, fields []string) {
	out.WriteString("| field | type | |\n|---|---|---|\n")
	for _, field := range fields {
		p := message.Properties[field]
		optional := ""
		if !slices.Contains(message.Required, field) {
			optional = "?"
		}
		fmt.Fprintf(out, "| `%s`%s | %s | %s |\n", field, optional, typeOf(p), strings.ReplaceAll(p.Description, "|", "\\|"))
	}
}

// keys are the properties of an object in an order that stays.
func keys(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) == len(s.Properties) {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// inside is the schema at a path of fields; lists are passed through.
func inside(t *testing.T, s *jsonschema.Schema, path string) *jsonschema.Schema {
	t.Helper()
	for field := range strings.SplitSeq(path, ".") {
		if s = s.Properties[field]; s == nil {
			t.Fatalf("there is no %s", path)
		}
		if s.Items != nil {
			s = s.Items
		}
	}
	return s
}

// objects are the objects in fields of messages.
var objects = []struct {
	name, what, in, path string
	fields               map[string]string // where the Go type says nothing
}{
	{name: "runs[]", what: "is a run in `run_list`, in `strategy_list` and at `GET /v1/runs`.", in: "daemon.run_list", path: "runs"},
	{name: "inputs[]", what: "is an input that waits.", in: "daemon.run_list", path: "runs.inputs"},
	{name: "error", what: "is what went wrong.", in: "daemon.strategy_error", path: "error"},
	{name: "usage", what: "counts tokens.", in: "daemon.agent_output", path: "usage"},
	{name: "result", what: "is what came out of a step.", in: "daemon.step_completed", path: "result"},
	{name: "cut", what: "says that a text is the beginning of a longer one.", in: "daemon.agent_output", path: "cut"},
	{name: "policies[]", what: "is one link of a guard's chain.", in: "daemon.policy_updated", path: "policies"},
	{name: "rule", what: "is where something was written.", in: "daemon.request_permission", path: "rule", fields: map[string]string{
		"rule": "the rule's text", "layer": "managed, flag, local, project, user or session", "file": "the settings file", "line": "from 1", "col": "from 1, in bytes",
	}},
	{name: "scopes[]", what: "is what \"for this session\" could cover.", in: "daemon.request_permission", path: "scopes", fields: map[string]string{
		"rule": "a rule, for `scope`; left out: exactly what was asked", "text": "in words",
	}},
	{name: "details", what: "is what a person is shown.", in: "daemon.request_permission", path: "details"},
	{name: "details.requests[]", what: "is one of several effects.", in: "daemon.request_permission", path: "details.requests"},
	{name: "changes[]", what: "is what became of a file.", in: "event.tool-finish", path: "changes", fields: map[string]string{
		"path": "the file", "before": "SHA-256 of its content, or absent", "after": "SHA-256 of its content, or absent",
	}},
	{name: "retention", what: "is a rewrite of an agent's transcript.", in: "event.retention", path: "event"},
	{name: "caller", what: "is who the client is.", in: "daemon.hello", path: "caller"},
	{name: "limits", what: "is what a connection may do.", in: "daemon.hello", path: "limits"},
}

// typeOf is a schema's type in words.
func typeOf(p *jsonschema.Schema) string {
	switch {
	case p.Ref != "":
		return "object"
	case p.Enum != nil:
		words := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			words[i] = fmt.Sprintf("`%v`", v)
		}
		return strings.Join(words, ", ")
	case p.Format == "date-time" && p.Types != nil:
		return "time or null"
	case p.Format == "date-time":
		return "time"
	case p.Type == "array":
		return "list of " + typeOf(p.Items) + "s"
	case p.Type == "":
		return "JSON"
	case p.Type == "boolean":
		return "true or false"
	case p.Type == "string":
		return "text"
	}
	return p.Type
}

// about says in a sentence what a message is for.
func about(t *testing.T, side, kind string) string {
	t.Helper()
	what, ok := sentences[side+"."+kind]
	if !ok {
		t.Errorf("nothing says what %s.%s is for", side, kind)
	}
	return what
}

var sentences = map[string]string{
	"client.hello":               "says who the client is, and authenticates one that could not send headers. Answer: `hello`.",
	"client.ping":                "asks for a `pong`.",
	"client.prepare_run":         "makes a run ready to start, or one on record ready to be continued. `runId`, `strategyPath` or `strategy` is needed. Answer: `run_prepared`, and the caller is subscribed; or `PREPARE_FAILED`. Nothing is kept of a run that is never started. A run that runs stays as it is: the answer tells what it is (`status` `running`), and the caller follows it from now on.",
	"client.start_run":           "starts a prepared run. Answer: `strategy_started` to all who follow it, or `START_FAILED`.",
	"client.continue_run":        "goes on with a run that has ended or was interrupted. Answer: `strategy_started`, or `CONTINUE_FAILED`.",
	"client.stop_run":            "cancels a run. Answer: `strategy_error` with `CANCELLED` to all who follow it, or `RUN_NOT_FOUND`.",
	"client.user_input":          "answers a `request_input`. Answer: `input_received` to all who follow the run, or `NO_PENDING_INPUT`.",
	"client.steer_run":           "gives a running run a text that its next agent call is to heed. Answer: `steer_queued`, or `RUN_NOT_STEERABLE`.",
	"client.permission_decision": "answers a `request_permission`. No direct answer but `rule_kept` to one with `always`, or `NO_PENDING_PERMISSION`. `scope` and `always` go with a session decision, `stop` with a deny, `input` with `allow`.",
	"client.update_policy":       "adds path rules to the guards of a run; `allow`, `deny` or `default` is needed. Answer: `policy_updated` to all who follow it, `RUN_NOT_FOUND`, or `VALIDATION_ERROR` for a tool that no agent can have.",
	"client.set_mode":            "changes the permission mode of a run. Answer: `policy_updated` to all who follow it, or `RUN_NOT_FOUND`.",
	"client.subscribe":           "follows a run. Answer: `subscribed`, or `SUBSCRIBE_ERROR`.",
	"client.unsubscribe":         "ends that. Answer: `unsubscribed`.",
	"client.list_runs":           "asks for the runs on record, newest first. Answer: `run_list`.",
	"client.list_strategies":     "asks for the runs in memory, as the seed has it. Answer: `strategy_list`.",
	"daemon.hello":               "answers `hello`.",
	"daemon.pong":                "answers `ping`.",
	"daemon.run_prepared":        "answers `prepare_run`.",
	"daemon.strategy_started":    "tells that a run was started or continued.",
	"daemon.step_started":        "tells that a step of the flow begins.",
	"daemon.agent_streaming":     "tells what an agent does; the events are below.",
	"daemon.agent_output":        "is an answer of a model, on record; its tool calls came before it.",
	"daemon.agent_input":         "is what an agent was told.",
	"daemon.request_permission":  "asks whether a tool call may run.",
	"daemon.permission_resolved": "tells how a question was answered, and by whom.",
	"daemon.rule_kept":           "tells whoever decided with `always` what was written into the settings.",
	"daemon.policy_updated":      "is the chain of one tool's guard after a change; a change gives one for each guard.",
	"daemon.request_input":       "asks people for the input of a user agent.",
	"daemon.input_received":      "tells that it was given.",
	"daemon.steer_queued":        "tells that the run's next agent call will heed a text.",
	"daemon.step_completed":      "tells what came out of a step.",
	"daemon.step_failed":         "tells that a step did not complete; `strategy_error` follows.",
	"daemon.strategy_completed":  "ends a run, or a segment of it: it can be continued.",
	"daemon.strategy_error":      "ends a run that failed, was cancelled or was interrupted.",
	"daemon.subscribed":          "answers `subscribe`, before anything of the run is told.",
	"daemon.unsubscribed":        "answers `unsubscribe`: nothing of the run follows.",
	"daemon.caught_up":           "tells that everything on record was told: what follows happens now.",
	"daemon.gap":                 "tells that provisional messages were lost.",
	"daemon.run_list":            "answers `list_runs`.",
	"daemon.strategy_list":       "answers `list_strategies`.",
	"daemon.error":               "tells what was wrong with a message.",
	"event.text":                 "is a piece of an answer. Provisional.",
	"event.thinking":             "is a piece of the model's thinking. Provisional.",
	"event.tool-input":           "is a piece of a tool call's input. Provisional.",
	"event.step-start":           "comes before each call of a model. Provisional.",
	"event.retry":                "tells that a model call failed and is repeated: what was provisional is void. Provisional.",
	"event.notice":               "is something a person may want to know. Provisional, but for what was found when an agent's session was opened: that is on record.",
	"event.tool-call":            "is a call that the model wants; it may yet be denied.",
	"event.tool-start":           "tells that a call was allowed and starts.",
	"event.tool-finish":          "tells how it ended; its result follows.",
	"event.tool-result":          "is what the model is told of it.",
	"event.retention":            "tells that the transcript was rewritten; what was there before stays in the log.",
}

// The frames of the document can be read by whom they are for, and fit the schema.
func TestDocumentedFrames(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	client, daemon := schemaOf(t, "client"), schemaOf(t, "daemon")
	n, inside := 0, false
	for i, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, "```") {
			inside = line == "```frames"
			continue
		}
		if !inside {
			continue
		}
		n++
		frame := []byte(line[2:])
		switch line[:2] {
		case "> ":
			if _, e := Decode(frame); e != nil {
				t.Errorf("line %d: %v", i+1, e)
			}
			if err := valid(t, client, frame); err != nil {
				t.Errorf("line %d: %v", i+1, err)
			}
		case "< ":
			m, err := parseMessage(frame)
			if err != nil {
				t.Errorf("line %d: %v", i+1, err)
			} else if !sameJSON(t, Encode(m), frame) {
				t.Errorf("line %d is written as %s", i+1, Encode(m))
			}
			if err := valid(t, daemon, frame); err != nil {
				t.Errorf("line %d: %v", i+1, err)
			}
		default:
			t.Errorf("line %d is of nobody", i+1)
		}
	}
	if n < 25 {
		t.Errorf("%d frames", n)
	}
}

// The document has each code, and no other.
func TestDocumentedCodes(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)`").FindAllStringSubmatch(section, -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, names(codes())) {
		t.Errorf("the document has %v, want %v", got, names(codes()))
	}
}
