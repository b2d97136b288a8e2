package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

const document = "../../../docs/reference/websocket.md"

// common are the fields that docs/reference/websocket.md explains once.
var common = []string{"runId", "seq", "more", "pending"}

// The tables of fields in the document are those of the schema; make docs writes them.
func TestDocumentedFields(t *testing.T) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, name := range []string{"client", "common", "daemon", "event", "objects"} {
		parts[name] = tables(t, s, name)
	}
	docgen.Parts(t, "reference/websocket.md", parts)
}

func tables(t *testing.T, s *jsonschema.Schema, name string) string {
	var out strings.Builder
	if name == "objects" {
		for i := range objects {
			o := &objects[i]
			nested := schemaAt(t, s.Defs[o.in], o.path)
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
		fmt.Fprintf(&out, "\n**`%s`** %s\n", kind, purposeOf(t, name, kind))
		var specific []string
		for field := range message.Properties {
			_, place := message.Properties["more"]
			if field == "type" || field == "ts" || place && slices.Contains(common, field) || field == "requestId" && kind != "request_permission" {
				continue
			}
			specific = append(specific, field)
		}
		if len(specific) == 0 {
			continue
		}
		sortAs(t, specific, def)
		out.WriteString("\n")
		table(&out, message, specific)
	}
	return out.String() + "\n"
}

// sortAs sorts fields in the order in which they are encoded.
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
	out.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, field := range fields {
		p := message.Properties[field]
		optional := ""
		if !slices.Contains(message.Required, field) {
			optional = "?"
		}
		fmt.Fprintf(out, "| `%s`%s | %s | %s |\n", field, optional, typeOf(p), strings.ReplaceAll(p.Description, "|", "\\|"))
	}
}

// keys returns the properties of an object in a stable order.
func keys(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) == len(s.Properties) {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// schemaAt returns the schema at a path of fields; it descends into lists.
func schemaAt(t *testing.T, s *jsonschema.Schema, path string) *jsonschema.Schema {
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
	fields               map[string]string // for fields whose Go type has no description
}{
	{name: "runs[]", what: "is a run in `run_list`, in `strategy_list` and at `GET /v1/runs`.", in: "daemon.run_list", path: "runs"},
	{name: "inputs[]", what: "is a pending input request.", in: "daemon.run_list", path: "runs.inputs"},
	{name: "error", what: "is an error.", in: "daemon.strategy_error", path: "error"},
	{name: "usage", what: "counts tokens.", in: "daemon.agent_output", path: "usage"},
	{name: "result", what: "is the result of a step.", in: "daemon.step_completed", path: "result"},
	{name: "cut", what: "marks a text that was cut.", in: "daemon.agent_output", path: "cut"},
	{name: "policies[]", what: "is one link of a guard's chain.", in: "daemon.policy_updated", path: "policies"},
	{name: "rule", what: "is the position of a rule or setting.", in: "daemon.request_permission", path: "rule", fields: map[string]string{
		"rule": "the rule's text", "layer": "managed, flag, local, project, user or session", "file": "the settings file", "line": "from 1", "col": "from 1, in bytes",
	}},
	{name: "scopes[]", what: "is a scope that a session decision can have.", in: "daemon.request_permission", path: "scopes", fields: map[string]string{
		"rule": "a rule, for `scope`; no value: exactly this call", "text": "the same in words",
	}},
	{name: "details", what: "is what the approver sees.", in: "daemon.request_permission", path: "details"},
	{name: "details.requests[]", what: "is one of several requests.", in: "daemon.request_permission", path: "details.requests"},
	{name: "changes[]", what: "is a change of a file.", in: "event.tool-finish", path: "changes", fields: map[string]string{
		"path": "the file", "before": "SHA-256 of its content, or absent", "after": "SHA-256 of its content, or absent",
	}},
	{name: "retention", what: "is a rewrite of an agent's transcript.", in: "event.retention", path: "event"},
	{name: "caller", what: "is the client.", in: "daemon.hello", path: "caller"},
	{name: "limits", what: "has the limits of a connection.", in: "daemon.hello", path: "limits"},
}

// typeOf describes a schema's type.
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

// purposeOf returns a sentence about the purpose of a message.
func purposeOf(t *testing.T, side, kind string) string {
	t.Helper()
	what, ok := sentences[side+"."+kind]
	if !ok {
		t.Errorf("%s.%s has no description", side, kind)
	}
	return what
}

var sentences = map[string]string{
	"client.hello":               "names the client, and authenticates a client that cannot send headers. Answer: `hello`.",
	"client.ping":                "requests a `pong`.",
	"client.prepare_run":         "prepares a new run, or a recorded run to be continued. `runId`, `strategyPath` or `strategy` is required. Answer: `run_prepared`, and the caller is subscribed; or `PREPARE_FAILED`. A prepared run that is never started is not stored. An active run does not change: the answer has the `status` `running`, and the caller is subscribed.",
	"client.start_run":           "starts a prepared run. Answer: `strategy_started` to all subscribers, or `START_FAILED`.",
	"client.continue_run":        "continues a run that has ended or was interrupted. Answer: `strategy_started`, or `CONTINUE_FAILED`.",
	"client.stop_run":            "cancels a run, or stops one of its sub-agents. Answer: `strategy_error` with `CANCELLED` to all subscribers, or `RUN_NOT_FOUND`; for a sub-agent `subagent_stopped`, or `CONFLICT` if it does not work.",
	"client.user_input":          "answers a `request_input`. Answer: `input_received` to all subscribers, or `NO_PENDING_INPUT`.",
	"client.steer_run":           "adds a text and images to the next agent call of an active run, or of one of its sub-agents. Answer: `steer_queued` or `subagent_steered`, `RUN_NOT_STEERABLE`, or `CONFLICT` if the sub-agent does not work or waits for an approval.",
	"client.permission_decision": "answers a `request_permission`. Answer: `rule_kept` if it has `always`, or `NO_PENDING_PERMISSION`; otherwise none. `scope` and `always` require a session decision, `stop` a deny, `input` an `allow`.",
	"client.update_policy":       "adds path rules to the guards of a run; `allow`, `deny` or `default` is required. Answer: `policy_updated` to all subscribers, `RUN_NOT_FOUND`, or `VALIDATION_ERROR` for an unknown tool.",
	"client.set_mode":            "changes the permission mode of a run. Answer: `policy_updated` to all subscribers, or `RUN_NOT_FOUND`.",
	"client.subscribe":           "subscribes to a run. Answer: `subscribed`, or `SUBSCRIBE_ERROR`.",
	"client.unsubscribe":         "ends the subscription. Answer: `unsubscribed`.",
	"client.list_runs":           "requests the recorded runs, newest first. Answer: `run_list`.",
	"client.list_strategies":     "requests the runs in memory, as agentkit does. Answer: `strategy_list`.",
	"daemon.hello":               "answers `hello`.",
	"daemon.pong":                "answers `ping`.",
	"daemon.run_prepared":        "answers `prepare_run`.",
	"daemon.strategy_started":    "reports that a run was started or continued.",
	"daemon.step_started":        "reports that a step of the flow starts.",
	"daemon.agent_streaming":     "reports what an agent does; the events are below.",
	"daemon.agent_output":        "is a recorded answer of a model; its tool calls came before it.",
	"daemon.agent_input":         "is the input of an agent.",
	"daemon.request_permission":  "is an approval request for a tool call.",
	"daemon.permission_resolved": "reports the answer to an approval request, and who answered.",
	"daemon.rule_kept":           "reports to the client that decided with `always` what was saved in the settings.",
	"daemon.policy_updated":      "is the chain of one tool's guard after a change; a change sends one for each guard.",
	"daemon.request_input":       "requests the input of a user agent.",
	"daemon.input_received":      "reports that the input was given.",
	"daemon.steer_queued":        "reports that the next agent call gets the text.",
	"daemon.steer_withdrawn":     "reports that no agent gets a text: a client withdrew it, or a hook refused it.",
	"daemon.subagent_steered":    "reports that one sub-agent or teammate got a text.",
	"daemon.subagent_stopped":    "reports that a user stopped one sub-agent, or the turn of a teammate; its parent reads that the user did it.",
	"daemon.step_completed":      "reports the result of a step.",
	"daemon.step_failed":         "reports that a step failed; `strategy_error` follows.",
	"daemon.strategy_completed":  "ends a run, or a segment of it: the run can be continued.",
	"daemon.strategy_error":      "ends a run that failed, was cancelled or was interrupted.",
	"daemon.subscribed":          "answers `subscribe`, before all messages of the run.",
	"daemon.unsubscribed":        "answers `unsubscribe`; no messages of the run follow.",
	"daemon.caught_up":           "reports that all recorded messages were sent: the next ones are live.",
	"daemon.gap":                 "reports that provisional messages were lost.",
	"daemon.run_list":            "answers `list_runs`.",
	"daemon.strategy_list":       "answers `list_strategies`.",
	"daemon.error":               "reports an invalid message or a failed request.",
	"event.text":                 "is a piece of an answer. Provisional.",
	"event.thinking":             "is a piece of the model's thinking. Provisional.",
	"event.tool-input":           "is a piece of a tool call's input. Provisional.",
	"event.step-start":           "comes before each call of a model. Provisional.",
	"event.retry":                "reports that a model call failed and is repeated: discard provisional messages. Provisional.",
	"event.notice":               "is a notice for the user. Provisional, except for notices from the opening of an agent's session, which are recorded.",
	"event.tool-call":            "is a tool call that the model requests; it may still be denied.",
	"event.tool-start":           "reports that a call was allowed and starts.",
	"event.tool-finish":          "reports how a call ended; its result follows.",
	"event.tool-result":          "is the result that the model gets.",
	"event.retention":            "reports that the transcript was rewritten; the log keeps the earlier items.",
}

// The frames in the document are valid for their receivers and match the schema.
func TestDocumentedFrames(t *testing.T) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	client, daemon := schemaOf(t, "client"), schemaOf(t, "daemon")
	n, schemaAt := 0, false
	for i, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, "```") {
			schemaAt = line == "```frames"
			continue
		}
		if !schemaAt {
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
			t.Errorf("line %d has no sender", i+1)
		}
	}
	if n < 25 {
		t.Errorf("%d frames", n)
	}
}

// The document lists exactly the existing codes.
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
