package importsettings

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// claudeSame are keys of Claude Code's settings that have the same meaning in Holdfast.
var claudeSame = []string{
	"permissions", "hooks", "disableAllHooks", "allowedHttpHookUrls", "httpHookAllowedEnvVars",
	"mcpServers", "disabledMcpjsonServers", "deniedMcpServers", "claudeMdExcludes", "autoCompactEnabled", "env", "outputStyle", "statusLine",
}

// samePermissions are the keys of Claude Code's permissions block that have the same meaning in
// Holdfast.
var samePermissions = []string{"allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"}

// managedOnly are keys that have the same meaning in Holdfast, but that only managed settings can
// set.
var managedOnly = []string{"allowManagedHooksOnly", "allowedMcpServers", "allowManagedMcpServersOnly"}

// claudeUnsupported maps keys that have a different meaning or no meaning in Holdfast to what to
// use instead.
var claudeUnsupported = map[string]string{
	"apiKeyHelper":                      "set the provider's key in Holdfast's settings",
	"awsAuthRefresh":                    "Amazon Bedrock is not supported",
	"awsCredentialExport":               "Amazon Bedrock is not supported",
	"enableAllProjectMcpServers":        "servers are approved by their definition: holdfast mcp approve NAME",
	"enabledMcpjsonServers":             "servers are approved by their definition: holdfast mcp approve NAME",
	"enabledPlugins":                    "plugins are not downloaded here: to use those that Claude Code has installed, run holdfast settings import, or name their folders in plugins in Holdfast's settings",
	"extraKnownMarketplaces":            "plugins are not downloaded here",
	"strictKnownMarketplaces":           "plugins are not downloaded here",
	"blockedMarketplaces":               "plugins are not downloaded here",
	"forceLoginMethod":                  "login at claude.ai is not supported",
	"forceLoginOrgUUID":                 "login at claude.ai is not supported",
	"cleanupPeriodDays":                 "it would move sessions to the trash; set it in Holdfast's settings if you want that",
	"skipDangerousModePermissionPrompt": "choose a mode with --permission-mode or permissions.defaultMode",
	"useAutoModeDuringPlan":             "plan mode changes nothing until the plan is approved",
	"disableAutoMode":                   "write deny rules for what auto mode must not do",
	"autoMode":                          "holdfast policy show lists what auto mode denies",
	"allowManagedPermissionRulesOnly":   "allow rules of all layers apply here; a managed deny overrides them",
	"allowedTools":                      "write permissions.allow",
	"disallowedTools":                   "write permissions.deny",
	"availableModels":                   "settings cannot restrict models",
	"effortLevel":                       "use --effort",
}

// claudeConvenience are the unsupported keys whose only effect is that they save questions or time.
var claudeConvenience = []string{"enableAllProjectMcpServers", "enabledMcpjsonServers", "cleanupPeriodDays", "skipDangerousModePermissionPrompt", "useAutoModeDuringPlan", "effortLevel"}

// claudeDisplay are keys that only affect Claude Code's display and convenience.
var claudeDisplay = []string{
	"$schema", "includeCoAuthoredBy", "attribution", "spinnerTipsEnabled", "spinnerTipsOverride", "spinnerVerbs", "autoUpdatesChannel",
	"language", "theme", "verbose", "preferredNotifChannel", "alwaysThinkingEnabled", "showThinkingSummaries", "fileSuggestion", "respectGitignore",
	"companyAnnouncements", "terminalProgressBarEnabled", "prefersReducedMotion", "editorMode", "feedbackSurveyState", "feedbackSurveyRate", "plansDirectory",
	"teammateMode", "autoUpdates", "autoConnectIde", "autoInstallIdeExtension", "fastMode", "promptSuggestionEnabled", "voiceEnabled", "tui", "viewMode",
	"includeGitInstructions", "otelHeadersHelper", "minimumVersion", "remoteControlAtStartup", "remote", "skipWebFetchPreflight",
}

// claude translates a settings file of Claude Code.
func (t *translation) claude(root jsontree.Node, k Kind) {
	for _, m := range root.Members {
		switch why, known := claudeUnsupported[m.Key]; {
		case m.Key == "permissions":
			t.claudePermissions(m)
		case m.Key == "sandbox":
			t.claudeSandbox(m)
		case m.Key == "model":
			t.claudeModel(m)
		case slices.Contains(claudeSame, m.Key), k == Managed && slices.Contains(managedOnly, m.Key):
			t.put(m.Key, m.Value)
		case slices.Contains(managedOnly, m.Key):
			t.unsupportedSilent(m.Key, m.At, "only managed settings can set this")
		case known && slices.Contains(claudeConvenience, m.Key):
			t.unsupportedSilent(m.Key, m.At, why)
		case known:
			t.unsupported(m.Key, m.At, why)
		case slices.Contains(claudeDisplay, m.Key):
			t.unsupportedSilent(m.Key, m.At, "it only affects Claude Code's display or convenience")
		default:
			t.unsupported(m.Key, m.At, "unknown setting")
		}
	}
}

func (t *translation) claudePermissions(m jsontree.Member) {
	if m.Value.Kind != jsontree.Object {
		t.refuse(m.Value.At, "permissions is %s, want an object", m.Value.Show())
		return
	}
	t.put("permissions", jsontree.Node{Kind: jsontree.Object, At: m.Value.At})
	for _, p := range m.Value.Members {
		key := "permissions." + p.Key
		switch why, known := claudeUnsupported[p.Key]; {
		case slices.Contains(samePermissions, p.Key):
			t.put(key, p.Value)
		case known:
			t.unsupported(key, p.At, why)
		default:
			t.unsupported(key, p.At, "unknown setting")
		}
	}
}

// claudeSandbox imports the block "sandbox" if the sandbox is enabled in it. Holdfast confines
// commands anyway.
func (t *translation) claudeSandbox(m jsontree.Member) {
	if m.Value.Kind != jsontree.Object {
		t.refuse(m.Value.At, "sandbox is %s, want an object", m.Value.Show())
		return
	}
	on := m.Value.Member("enabled")
	if on == nil || on.Text != "true" {
		t.unsupportedSilent("sandbox", m.At, "it is not enabled there; commands run in Holdfast's sandbox")
		return
	}
	t.put("sandbox", m.Value)
}

// ruleOf returns a rule in the form Tool(what).
func ruleOf(tool, what string) string {
	if strings.TrimSpace(what) == "" || what == "*" {
		return tool
	}
	return tool + "(" + what + ")"
}

// claudeModels maps Claude Code's short names to models.
var claudeModels = map[string]string{"opus": "claude-opus-4-6", "sonnet": "claude-sonnet-4-6", "haiku": "claude-haiku-4-5", "opusplan": "claude-opus-4-6"}

// claudeModel adds the provider to a model's name.
func (t *translation) claudeModel(m jsontree.Member) {
	name := strings.TrimSuffix(m.Value.Text, "[1m]")
	if full, ok := claudeModels[name]; ok {
		name = full
	}
	if m.Value.Kind != jsontree.Text || !strings.HasPrefix(name, "claude-") {
		t.unsupportedSilent(m.Key, m.At, "not a model of Anthropic's API; set model to PROVIDER/MODEL in Holdfast's settings")
		return
	}
	t.put("model", text("anthropic/"+name, m.Value.At))
}
