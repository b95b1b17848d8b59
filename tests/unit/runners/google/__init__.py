"""Tests of Google's runners, without a server of Google's."""
