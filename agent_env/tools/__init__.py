"""What a model may call. Tools receive their providers; they never import web or sandbox."""
