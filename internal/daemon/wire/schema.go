package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/policy"
)

// messages has one empty message of each type.
var messages = []Message{
	&Greeting{}, &Pong{}, &RunPrepared{}, &StrategyStarted{}, &StepStarted{}, &AgentStreaming{}, &AgentOutput{}, &AgentInput{},
	&RequestPermission{}, &PermissionResolved{}, &RuleSaved{}, &PolicyUpdated{}, &RequestInput{}, &InputReceived{}, &SteerQueued{}, &SteerWithdrawn{}, &SubagentSteered{}, &SubagentStopped{},
	&StepCompleted{}, &StepFailed{}, &StrategyCompleted{}, &StrategyError{}, &Subscribed{}, &Unsubscribed{}, &CaughtUp{},
	&Gap{}, &RunList{}, &StrategyList{}, &Error{},
}

// Schema returns the JSON Schema (2020-12) of all messages, generated from their Go types. Its
// $defs "client" and "daemon" are the messages of each side. Each message also has a separate
// definition, such as "client.start_run" or "daemon.pong". A client's message may have only the
// listed fields. The daemon's messages may get more fields in later versions.
func Schema() []byte { return slices.Clone(schema()) }

var schema = sync.OnceValue(func() []byte {
	b, err := json.Marshal(makeSchema())
	if err != nil {
		panic("wire: " + err.Error()) // the result depends only on this package's types
	}
	return b
})

func makeSchema() *jsonschema.Schema {
	root := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: "urn:holdfast:ws:1", Title: "Holdfast's WebSocket messages",
		Description: "A frame is one message, from a client ($defs/client) or from the daemon ($defs/daemon).",
		Defs:        map[string]*jsonschema.Schema{},
	}
	client := &jsonschema.Schema{Description: "messages from a client"}
	for i := range requests {
		r := &requests[i]
		name := "client." + r.name
		root.Defs[name] = requestSchema(r)
		client.OneOf = append(client.OneOf, ref(name))
	}
	daemon := &jsonschema.Schema{Description: "messages from the daemon"}
	for _, m := range messages {
		name := "daemon." + m.Type()
		root.Defs[name] = objectSchema(m.Type(), reflect.TypeOf(m).Elem())
		daemon.OneOf = append(daemon.OneOf, ref(name))
	}
	events := &jsonschema.Schema{Description: "events of an agent"}
	for _, e := range streamEvents {
		name := "event." + e.EventType()
		root.Defs[name] = objectSchema(e.EventType(), reflect.TypeOf(e).Elem())
		events.OneOf = append(events.OneOf, ref(name))
	}
	root.Defs["client"], root.Defs["daemon"], root.Defs["event"] = client, daemon, events
	root.AnyOf = []*jsonschema.Schema{ref("client"), ref("daemon")}
	return root
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// specialSchemas are the schemas of types that reflection does not describe well.
func specialSchemas() map[reflect.Type]*jsonschema.Schema {
	m := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Raw]():               {},
		reflect.TypeFor[[]byte]():            {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[StreamEvent]():       ref("event"),
		reflect.TypeFor[Time]():              {Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`},
		reflect.TypeFor[time.Time]():         {Type: "string", Format: "date-time"},
		reflect.TypeFor[Code]():              {Type: "string", Examples: enumSchema(names(codes())).Enum},
		reflect.TypeFor[api.RunStatus]():     enumSchema(names(statuses())),
		reflect.TypeFor[approval.Decision](): enumSchema(names(decisions())),
		reflect.TypeFor[policy.Mode]():       {Type: "string"}, // newer versions may have other modes
		reflect.TypeFor[policy.Operation]():  {Type: "string"},
	}
	why, err := jsonschema.For[Problem](&jsonschema.ForOptions{TypeSchemas: m})
	if err != nil {
		panic("wire: " + err.Error()) // it depends only on this package's types
	}
	m[reflect.TypeFor[api.RunError]()] = why
	return m
}

func enumSchema(list []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range list {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// objectSchema returns the schema of a struct, with the constant field type.
func objectSchema(name string, t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: specialSchemas()})
	if err != nil {
		panic(fmt.Sprintf("wire: %s: %v", t, err)) // it depends only on this package's types
	}
	allowAdditional(s)
	var kind any = name
	s.Properties["type"] = &jsonschema.Schema{Const: &kind}
	if !slices.Contains(s.Required, "type") {
		s.Required = slices.Insert(s.Required, 0, "type")
		s.PropertyOrder = slices.Insert(s.PropertyOrder, 0, "type")
	}
	return s
}

// allowAdditional allows additional fields and removes null, because nil fields are omitted. The exception is
// the end time of a run that has not ended.
func allowAdditional(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	allowAdditional(s.Items)
	for field, p := range s.Properties {
		allowAdditional(p)
		if len(p.Types) == 2 && p.Types[0] == "null" && !slices.Contains(s.Required, field) {
			p.Type, p.Types = p.Types[1], nil
		}
	}
}

// requestSchema returns the schema of the messages that [Decode] accepts. It omits the checks that
// concern several fields together.
func requestSchema(r *request) *jsonschema.Schema {
	s := objectSchema(r.name, reflect.TypeOf(r.of).Elem())
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	f := forms()[r.name]
	for i := range f.fields {
		d := &f.fields[i]
		if d.name == "type" {
			continue
		}
		p := s.Properties[d.name]
		if isRaw(r, d.name) {
			p.Type = "object"
		}
		d.rule.describe(p)
		if p.Items != nil {
			d.rule.describe(p.Items)
			if d.rule.images {
				p.Items.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
			}
			p.MaxItems, p.Items.MaxItems = &d.rule.items, nil
		}
	}
	return s
}

// isRaw reports whether a field is JSON that is passed on unchanged, which is always an object.
func isRaw(r *request, field string) bool {
	for _, sf := range reflect.VisibleFields(reflect.TypeOf(r.of).Elem()) {
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name == field {
			return sf.Type == reflect.TypeFor[Raw]()
		}
	}
	return false
}

// describe adds the rule of a field to the field's schema. JSON Schema counts characters and the
// rule counts bytes, so the schema accepts everything that the rule accepts.
func (r *rule) describe(s *jsonschema.Schema) {
	switch s.Type {
	case "string":
		if r.enum != nil {
			s.Enum = enumSchema(r.enum).Enum
		}
		if r.bytes > 0 {
			s.MaxLength = &r.bytes
		}
		if r.nonEmpty || r.id {
			s.MinLength = new(1)
		}
		if r.id {
			s.MaxLength = new(128)
		}
	case "number":
		s.Minimum = new(float64(-1))
	case "integer":
		s.Minimum = new(float64(r.min))
		if r.max > 0 {
			s.Maximum = new(float64(r.max))
		}
	}
}
