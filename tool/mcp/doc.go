// Package mcp is the client of Model Context Protocol servers: their tools become tools
// of a session.
package mcp

import (
	_ "github.com/modelcontextprotocol/go-sdk/auth"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/modelcontextprotocol/go-sdk/oauthex"
	_ "golang.org/x/oauth2"
)
