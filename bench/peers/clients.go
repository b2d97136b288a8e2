//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are the npm packages of the programs, in the measured versions.
var packages = []string{"@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0", "opencode-ai@1.18.33", "@google/gemini-cli@0.61.0"}

// program is a measured program.
type program struct {
	name, version string
	sandbox       string // what confined the command
	durable       string // whether the program writes a turn to disk before the next turn
	env           []string
	once, again   []string // the arguments before the prompt: for a new session, and for resuming the last one
	screen        []string // the arguments for a conversation in the terminal
	home, dir     string
	noResume      string // why resuming is not measured for this program
}

// install downloads the packages once. The install scripts of the packages are not run.
func install(dir string) error {
	done := filepath.Join(dir, "installed")
	if b, _ := os.ReadFile(done); string(b) == strings.Join(packages, " ") {
		return nil
	}
	args := append([]string{"install", "--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix", dir}, packages...)
	cmd := exec.Command("npm", args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	fmt.Fprintln(os.Stderr, "npm", strings.Join(args, " "))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm install: %w", err)
	}
	return os.WriteFile(done, []byte(strings.Join(packages, " ")), 0o600)
}

// programs are all measured programs. If an npm package starts a native program through Node, the
// native program is started directly.
func programs(url, peers, holdfast, bare, homes string) []*program {
	at := func(path string) string { return filepath.Join(peers, "node_modules", path) }
	arch := "x64"
	codex := at("@openai/codex-linux-" + arch + "/vendor/x86_64-unknown-linux-musl/bin/codex")
	server := `model_providers.bench={name="bench",base_url="` + url + `/v1",wire_api="responses",env_key="OPENAI_API_KEY",supports_websockets=false}`
	config := []string{"-c", server, "-c", `model_provider="bench"`, "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "-m", "gpt-5"}
	all := []*program{
		{
			name: "bare client", version: "bench/bareclient", sandbox: "none", durable: "yes", noResume: "it has no sessions",
			once: []string{bare, url, "bare.log"},
		},
		{
			name: "holdfast", sandbox: "on (default)", durable: "yes",
			env:    []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=made-up"},
			once:   []string{holdfast, "run", "-m", "anthropic/claude-sonnet-4-5", "--permission-mode", "bypassPermissions"},
			again:  []string{holdfast, "run", "-m", "anthropic/claude-sonnet-4-5", "--permission-mode", "bypassPermissions", "--continue"},
			screen: []string{holdfast, "-m", "anthropic/claude-sonnet-4-5"},
		},
		{
			name: "claude", sandbox: "off (default)", durable: "not looked at",
			env: []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=made-up", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
				"DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			once:   []string{at("@anthropic-ai/claude-code-linux-" + arch + "/claude"), "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "-p"},
			again:  []string{at("@anthropic-ai/claude-code-linux-" + arch + "/claude"), "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--continue", "-p"},
			screen: []string{at("@anthropic-ai/claude-code-linux-" + arch + "/claude"), "--model", "claude-sonnet-4-5"},
		},
		{
			name: "codex", sandbox: "on (default of exec: read-only)", durable: "not looked at",
			env:    []string{"OPENAI_API_KEY=made-up"},
			once:   append([]string{codex, "exec", "--skip-git-repo-check"}, config...),
			again:  append(append([]string{codex, "exec", "--skip-git-repo-check"}, config...), "resume", "--last"),
			screen: append([]string{codex}, config...),
		},
		{
			name: "opencode", sandbox: "it has none", durable: "not looked at",
			env:    []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "ANTHROPIC_API_KEY=made-up"},
			once:   []string{at("opencode-linux-" + arch + "/bin/opencode"), "run", "-m", "anthropic/claude-sonnet-4-5"},
			again:  []string{at("opencode-linux-" + arch + "/bin/opencode"), "run", "-m", "anthropic/claude-sonnet-4-5", "--continue"},
			screen: []string{at("opencode-linux-" + arch + "/bin/opencode"), "-m", "anthropic/claude-sonnet-4-5"},
		},
		{
			name: "gemini", sandbox: "off (default)", durable: "not looked at",
			env:    []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=made-up", "GEMINI_TELEMETRY_ENABLED=false"},
			once:   []string{at(".bin/gemini"), "-m", "gemini-2.5-pro", "--skip-trust", "--approval-mode", "yolo", "-p"},
			again:  []string{at(".bin/gemini"), "-m", "gemini-2.5-pro", "--skip-trust", "--approval-mode", "yolo", "--resume", "latest", "-p"},
			screen: []string{at(".bin/gemini"), "-m", "gemini-2.5-pro", "--skip-trust"},
		},
	}
	for _, p := range all {
		p.home = filepath.Join(homes, strings.ReplaceAll(p.name, " ", "-"))
		p.dir = filepath.Join(p.home, "work")
	}
	return all
}

// prepare creates a home folder with the settings for which there is no flag, and reads the
// program's version.
func (p *program) prepare(url string) error {
	files := map[string]string{filepath.Join(p.dir, "a"): "a\n"}
	switch p.name {
	case "claude": // for the terminal: the theme, the key and the folder are already confirmed
		files[filepath.Join(p.home, ".claude.json")] = `{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["made-up"]},"projects":{"` + p.dir + `":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`
	case "codex":
		files[filepath.Join(p.home, ".codex/config.toml")] = "[projects.\"" + p.dir + "\"]\ntrust_level = \"trusted\"\n"
	case "opencode":
		files[filepath.Join(p.home, ".config/opencode/opencode.json")] = `{"autoupdate":false,"share":"disabled","provider":{"anthropic":{"options":{"baseURL":"` + url + `/v1"}}}}`
	case "gemini":
		files[filepath.Join(p.home, ".gemini/settings.json")] = `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"disableUpdateNag":true}}`
	}
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if p.version == "" {
		ask := "--version"
		if p.name == "holdfast" {
			ask = "version"
		}
		cmd := exec.Command(p.once[0], ask)
		cmd.Env, cmd.Dir = p.environ(), p.dir
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.name, ask, err)
		}
		p.version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	}
	return nil
}

func (p *program) environ() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "HOLDFAST_HOME=" + filepath.Join(p.home, ".holdfast"), "TERM=dumb"}, p.env...)
}
