"""Takes a work item from the tracker to code that is reviewed, tested, merged, deployed and watched."""

__version__ = "0.1.0"
