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

// messages has an empty message of each type.
var messages = []Message{
	&Greeting{}, &Pong{}, &RunPrepared{}, &StrategyStarted{}, &StepStarted{}, &AgentStreaming{}, &AgentOutput{}, &AgentInput{},
	&RequestPermission{}, &PermissionResolved{}, &RuleSaved{}, &PolicyUpdated{}, &RequestInput{}, &InputReceived{}, &SteerQueued{},
	&StepCompleted{}, &StepFailed{}, &StrategyCompleted{}, &StrategyError{}, &Subscribed{}, &Unsubscribed{}, &CaughtUp{},
	&Gap{}, &RunList{}, &StrategyList{}, &Error{},
}

// Schema is the JSON Schema (2020-12) of all messages, made of their Go types. Its
// $defs "client" and "daemon" are what each side may send; each message has a
// definition of its own, "client.start_run", "daemon.pong". A client's messages have
// the listed fields only; to a daemon's, later versions may add some.
func Schema() []byte { return slices.Clone(schema()) }

var schema = sync.OnceValue(func() []byte {
	b, err := json.Marshal(makeSchema())
	if err != nil {
		panic("wire: " + err.Error()) // it is made of this package's types alone
	}
	return b
})

func makeSchema() *jsonschema.Schema {
	root := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: "urn:holdfast:ws:1", Title: "Holdfast's WebSocket messages",
		Description: "A frame is one message: of a client ($defs/client) or of the daemon ($defs/daemon).",
		Defs:        map[string]*jsonschema.Schema{},
	}
	client := &jsonschema.Schema{Description: "what a client may send"}
	for i := range requests {
		r := &requests[i]
		name := "client." + r.name
		root.Defs[name] = requestSchema(r)
		client.OneOf = append(client.OneOf, ref(name))
	}
	daemon := &jsonschema.Schema{Description: "what the daemon sends"}
	for _, m := range messages {
		name := "daemon." + m.Type()
		root.Defs[name] = objectSchema(m.Type(), reflect.TypeOf(m).Elem())
		daemon.OneOf = append(daemon.OneOf, ref(name))
	}
	events := &jsonschema.Schema{Description: "what an agent does"}
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

// specialSchemas are the schemas of types that say less than they mean.
func specialSchemas() map[reflect.Type]*jsonschema.Schema {
	m := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Raw]():               {},
		reflect.TypeFor[StreamEvent]():       ref("event"),
		reflect.TypeFor[Time]():              {Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`},
		reflect.TypeFor[time.Time]():         {Type: "string", Format: "date-time"},
		reflect.TypeFor[Code]():              {Type: "string", Examples: oneOf(names(codes())).Enum},
		reflect.TypeFor[api.RunStatus]():     oneOf(names(statuses())),
		reflect.TypeFor[approval.Decision](): oneOf(names(decisions())),
		reflect.TypeFor[policy.Mode]():       {Type: "string"}, // also one that settings of a newer version know
		reflect.TypeFor[policy.Operation]():  {Type: "string"},
	}
	why, err := jsonschema.For[Problem](&jsonschema.ForOptions{TypeSchemas: m})
	if err != nil {
		panic("wire: " + err.Error()) // it is this package's type
	}
	m[reflect.TypeFor[api.RunError]()] = why
	return m
}

func oneOf(list []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range list {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// objectSchema is the schema of a struct with a type.
func objectSchema(name string, t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: specialSchemas()})
	if err != nil {
		panic(fmt.Sprintf("wire: %s: %v", t, err)) // it is this package's type
	}
	open(s)
	var kind any = name
	s.Properties["type"] = &jsonschema.Schema{Const: &kind}
	if !slices.Contains(s.Required, "type") {
		s.Required = slices.Insert(s.Required, 0, "type")
		s.PropertyOrder = slices.Insert(s.PropertyOrder, 0, "type")
	}
	return s
}

// open lets objects have more fields, and values be nothing else: what is nil is left
// out, but for the end of a run that goes on.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	open(s.Items)
	for field, p := range s.Properties {
		open(p)
		if len(p.Types) == 2 && p.Types[0] == "null" && !slices.Contains(s.Required, field) {
			p.Type, p.Types = p.Types[1], nil
		}
	}
}

// requestSchema is what [Decode] takes, but for what fields must be together.
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
		if kindOfRaw(r, d.name) {
			p.Type = "object"
		}
		d.rule.describe(p)
		if p.Items != nil {
			d.rule.describe(p.Items)
			p.MaxItems, p.Items.MaxItems = &d.rule.items, nil
		}
	}
	return s
}

// kindOfRaw reports whether a field is JSON that is passed on: always an object.
func kindOfRaw(r *request, field string) bool {
	for _, sf := range reflect.VisibleFields(reflect.TypeOf(r.of).Elem()) {
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name == field {
			return sf.Type == reflect.TypeFor[Raw]()
		}
	}
	return false
}

// describe adds the rule to a schema. JSON Schema counts characters, the rule bytes:
// what the rule takes the schema takes.
func (r *rule) describe(s *jsonschema.Schema) {
	switch s.Type {
	case "string":
		if r.enum != nil {
			s.Enum = oneOf(r.enum).Enum
		}
		if r.bytes > 0 {
			s.MaxLength = &r.bytes
		}
		if r.some || r.id {
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
