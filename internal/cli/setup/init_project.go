package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// projectDoc describes what commands of the project may do.
type projectDoc struct {
	Folder     string   `json:"folder"`
	File       string   `json:"file,omitempty"`
	Allow      []string `json:"allow"`
	Registries []string `json:"registries"`
	Counts     bool     `json:"counts"`
}

// toolchain describes a build tool by a file in the project's folder: the commands that build and
// test, and the registry of its packages.
type toolchain struct {
	file     string
	commands []string
	registry string
}

var toolchains = []toolchain{
	{"go.mod", []string{"go build", "go test", "go vet"}, "@go"},
	{"pnpm-lock.yaml", []string{"pnpm test", "pnpm install"}, "@npm"},
	{"yarn.lock", []string{"yarn test", "yarn install"}, "@npm"},
	{"package.json", []string{"npm test", "npm ci", "npm install"}, "@npm"},
	{"Cargo.toml", []string{"cargo build", "cargo test", "cargo check", "cargo clippy"}, "@crates"},
	{"pyproject.toml", []string{"pytest", "python -m pytest"}, "@pypi"},
	{"requirements.txt", []string{"pytest", "python -m pytest"}, "@pypi"},
	{"pom.xml", []string{"mvn test", "mvn compile"}, "@maven"},
	{"build.gradle", []string{"./gradlew test", "./gradlew build"}, "@maven"},
	{"build.gradle.kts", []string{"./gradlew test", "./gradlew build"}, "@maven"},
	{"Makefile", []string{"make test", "make build"}, ""},
}

// toolsOf returns the commands of a project and the package registries that it uses.
func toolsOf(folder string) (found, commands, registries []string) {
	has := func(list []string, s string) bool {
		for _, x := range list {
			if x == s {
				return true
			}
		}
		return false
	}
	npm := false
	for _, t := range toolchains {
		if t.registry == "@npm" && npm {
			continue // the lock file decides between npm, pnpm and yarn
		}
		if _, err := os.Stat(filepath.Join(folder, t.file)); err != nil {
			continue
		}
		npm = npm || t.registry == "@npm"
		found = append(found, t.file)
		for _, c := range t.commands {
			if !has(commands, c) {
				commands = append(commands, c)
			}
		}
		if t.registry != "" && !has(registries, t.registry) {
			registries = append(registries, t.registry)
		}
	}
	return found, commands, registries
}

// project is the third step: what commands of this project may do without asking.
func (w *wizard) project(ctx context.Context) error {
	folder := w.rules.Project
	found, commands, registries := toolsOf(folder)
	if len(found) == 0 || folder == w.p.UserHome() {
		w.heading(3, "Project: no known build tools in "+term.Escape(folder))
		return nil
	}
	layer, err := w.projectLayer(ctx, folder, found, commands, registries)
	if err != nil || layer == "" {
		return err
	}
	d := &projectDoc{Folder: folder, Allow: []string{}, Registries: registries}
	put := func(list []string, text string) error {
		written, err := w.p.WriteSetting("", layer, list, text)
		if err != nil {
			return err
		}
		d.File, d.Counts = written.File, written.Counts
		return nil
	}
	for _, c := range commands {
		rule := "Bash(" + c + ":*)"
		if err := put(settings.RuleList(policy.Allow), rule); err != nil {
			return err
		}
		d.Allow = append(d.Allow, rule)
	}
	for _, name := range registries {
		if err := put(settings.AllowedDomains, name); err != nil {
			return err
		}
	}
	w.p.Err.Line("%s: %s", strings.Join(append(commands, registries...), ", "), term.Escape(d.File))
	if !d.Counts {
		w.p.Warn("%s", command.NotTrusted)
	}
	w.doc.Project = d
	return w.load()
}

// projectLayer returns the settings layer that the user chooses. It returns "" if the user chooses
// none.
func (w *wizard) projectLayer(ctx context.Context, folder string, found, commands, registries []string) (string, error) {
	layers := map[string]string{"me": layernames.Local, "all": layernames.Project, "none": "", "": ""}
	if w.c.Project != "" || w.terminal == nil {
		return layers[w.c.Project], nil
	}
	w.heading(3, "Project: may commands of "+term.Escape(folder)+" do this without asking?")
	w.print("  found    %s", strings.Join(found, ", "))
	w.print("  run      %s, in the sandbox", strings.Join(commands, ", "))
	if len(registries) > 0 {
		w.print("  reach    %s", strings.Join(registries, ", "))
	}
	list := []option{
		{"none", "ask me each time"},
		{"me", "allow for me: " + settings.LayerFile(layernames.Local, folder, "")},
		{"all", "allow for everyone who works on it: " + settings.LayerFile(layernames.Project, folder, "")},
	}
	i, err := w.choose(ctx, "allow for", list, 0)
	return layers[list[i].name], err
}
