package stores

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
)

func TestParse(t *testing.T) {
	e := &env.Env{Vars: []string{"HOME=/h"}, Getwd: func() (string, error) { return "/w", nil }}
	for _, tt := range []struct{ in, want string }{ // want is its name
		{"", "sqlite:/h/.holdfast/sessions.db"},
		{"memory:", "memory:"},
		{"sqlite:a.db", "sqlite:/w/a.db"},
		{"sqlite:/a/../b.db", "sqlite:/b.db"},
		{"sqlite:///b.db", "sqlite:/b.db"},
		{"file:~/logs", "file:/h/logs"},
		{"file:a b", "file:/w/a b"},
		{"memory:x", ""},
		{"file:", ""},
		{"postgres:x", ""},
		{"postgres://u:pw@db.example:5433/agents?schema=team&sslmode=disable&password=x", "postgres://db.example:5433/agents?schema=team"},
		{"postgresql://db.example/agents", "postgres://db.example/agents"},
		{"mysql://u:pw@127.0.0.1:3307/agents", "mysql://127.0.0.1:3307/agents"},
		{"redis://:pw@127.0.0.1:6380/2?prefix=a:", "redis://127.0.0.1:6380/2?prefix=a%3A"},
		{"s3://key:secret@bucket/a/b?endpoint=http%3A%2F%2F127.0.0.1%3A9000", "s3://bucket/a/b?endpoint=http%3A%2F%2F127.0.0.1%3A9000"},
		{"encrypted+sqlite:a.db", "encrypted+sqlite:/w/a.db"},
		{"encrypted+", ""},
		{"oracle://x", ""},
		{"s3:bucket", ""},
		{"s3://bucket?endpoint=http%3A%2F%2Fu%3Apw%40h%3A9000", ""},
		{"postgres:host=db password=pw", ""},
		{"host=db password=pw", ""},
		{"oracle://db?password=pw", ""},
		{"postgres://[::bad/db?password=pw", ""},
		{"/a.db", ""},
	} {
		got, err := Parse(e, tt.in)
		if err == nil && got.Name != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("stores.Ref(%q) = %q, %v; want %q", tt.in, got.Name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%v", err)
		}
	}
}

// A store has one name, and so one trail, whichever way its URL is written.
func TestParseScheme(t *testing.T) {
	e := &env.Env{}
	a, err := Parse(e, "postgres://h/db")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(e, "postgresql://u@h/db")
	if err != nil || a.Scheme != b.Scheme || a.Name != b.Name {
		t.Errorf("%+v %+v %v", a, b, err)
	}
}
