//go:build tools

// Package template names the program that a test runs (../../processes/consul_template_test.py).
package template

import _ "github.com/hashicorp/consul-template"
