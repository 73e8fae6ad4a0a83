"""What the numbers of `reach` say: how far, how it decays, what is used, which heads look back."""
