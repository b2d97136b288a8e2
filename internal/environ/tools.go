package environ

import (
	"path/filepath"
	"slices"
	"strings"
)

// pathVariables contain files and folders of tools, or lists of them: where the user has installed programs,
// the files that they read, and the certificates that they trust.
var pathVariables = []string{
	"GOROOT", "GOPATH", "GOBIN", "GOMODCACHE", "NVM_DIR", "NVM_BIN", "FNM_DIR", "FNM_MULTISHELL_PATH", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL",
	"PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_EXE", "PYTHONUSERBASE", "CARGO_HOME", "RUSTUP_HOME",
	"JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "SDKMAN_DIR", "ANDROID_HOME", "ANDROID_SDK_ROOT",
	"RBENV_ROOT", "GEM_HOME", "GEM_PATH", "DOTNET_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "MISE_CONFIG_DIR",
	"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_STATE_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
}

// optionVariables contain versions of tools, and the registries that they use.
var optionVariables = []string{
	"GOTOOLCHAIN", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "CGO_ENABLED", "PYENV_VERSION", "RBENV_VERSION", "RUSTUP_TOOLCHAIN",
	"npm_config_registry", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX",
}

// isToolVariable reports whether commands receive a variable because tools need it. A value that does not fit
// its name, or that contains a URL with a password, is not passed on.
func isToolVariable(name, value string) bool {
	switch {
	case slices.Contains(pathVariables, name):
		for _, place := range filepath.SplitList(value) {
			if place != "" && !filepath.IsAbs(place) {
				return false
			}
		}
		return value != ""
	case slices.Contains(optionVariables, name):
		return !strings.Contains(value, "@")
	}
	return false
}
